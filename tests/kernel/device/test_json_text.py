from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from agentm_kernel.device import json_text
from agentm_kernel.device.json_text import MAX_DIGITS, locked_folder, parse
from agentm_kernel.errors import MalformedJson, StorageIOError

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = {
    "nothing": ("", "empty"),
    "only blanks": (" \n\t\r ", "empty"),
    "a byte order mark": ("\ufeff{}", "byte order mark"),
    "a key twice": ('{"a": 1, "b": 2, "a": 1}', "'a' is given twice"),
    "a key twice further in": ('{"x": [{"a": 1, "a": 2}]}', "'a' is given twice"),
    "a key twice by an escape": ('{"a": 1, "\\u0061": 2}', "'a' is given twice"),
    "something after the value": ('{"a": 1} x', "Extra data"),
    "a key that is given twice, and one before it": ('{"a": 1, "b": 2, "b": 3}', "the key 'b' is given twice"),
    "two values": ("{} {}", "Extra data"),
    "a comma too many": ("[1,]", "line 1"),
    "a missing brace": ('{"a": 1', "line 1"),
    "a key without a value": ('{"a"}', "line 1, column"),
    "single quotes": ("{'a': 1}", "line 1"),
    "a comment": ("{} // more", "Extra data"),
    "a raw tab in a string": ('"\t"', "control character"),
    "a bad escape": ('"\\x"', "escape"),
    "the second line": ('{\n  "a": oops\n}', "line 2, column 8"),
    "NaN": ('{"a": NaN}', "NaN is not"),
    "Infinity": ("[Infinity]", "Infinity is not"),
    "-Infinity": ("-Infinity", "-Infinity is not"),
    "a number beyond float": ("1e999", "too large"),
    "a negative number beyond float": ("-1e999", "too large"),
    "a long number beyond float": ("1" * 50 + "e999", f"the number {'1' * 40} is too large"),
    "1,001 digits": ("1" * (MAX_DIGITS + 1), "1,001 digits"),
    "deep nesting": ("[" * 100_000 + "]" * 100_000, "nested"),
    "deep nesting, unclosed": ('{"a":' * 100_000, "nested"),
    "nesting that the scanner can take but we do not": ("[" * 101 + "]" * 101, "nested more than 100"),
    "a no-break space around it": ("\u00a0{}", "line 1"),
}


@pytest.fixture(params=["scanner", "json"])
def implementation(request, monkeypatch):
    """The C scanner, and what takes its place on interpreters that have none."""
    if request.param == "json":
        monkeypatch.setattr(json_text, "_scanner", None)


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
@pytest.mark.usefixtures("implementation")
def test_what_is_not_exactly_one_value_is_refused_with_a_reason(text, reason):
    with pytest.raises(MalformedJson, match=reason):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "true",
        ' [1, -2.5e3, "x"]\n',
        '\r\n\t{"a": {"b": []}}',
        '"\\u00e9\\ud83d\\ude00"',
        "[" * 100 + "]" * 100,
        "1" * 1000,
    ],
)
@pytest.mark.usefixtures("implementation")
def test_values_are_those_of_the_standard_library(text):
    assert parse(text) == json.loads(text)


def test_many_brackets_that_are_not_deep_are_fine():
    assert parse("[" + ",".join(["{}"] * 5000) + "]") == [{}] * 5000
    assert parse(json.dumps("[{" * 5000)) == "[{" * 5000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(VALUES)
def test_whatever_json_writes_is_read_back(value):
    assert parse(json.dumps(value)) == value
    assert parse(json.dumps(value, indent=1).encode()) == value


@settings(deadline=None)
@given(st.text(alphabet='{}[]:,"0123.-eE\\u ntrfalsx\n'))
def test_any_text_gives_the_standard_librarys_answer_or_is_refused(text):
    try:
        expected = json.loads(text)
    except ValueError:
        expected = MalformedJson
    try:
        found = parse(text)
    except MalformedJson as error:
        # stricter than the standard library only where it says so
        found = expected if "given twice" in str(error) or "too large" in str(error) else MalformedJson
    assert found == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
        ('{"a": 1}'.encode("utf-32"), "UTF-16 or UTF-32"),
        ('{"a": "é"}'.encode("latin-1"), "byte 7 is 0xe9"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
    ],
)
def test_bytes_in_another_encoding_are_named_and_not_guessed_at(data, reason):
    with pytest.raises(MalformedJson, match=reason):
        parse(data)


def test_a_folder_that_cannot_be_made_says_why_by_its_number_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageIOError, match="make it writable") as refused:
        locked_folder(str(tmp_path / "file" / "state"))
    assert refused.value.errno == errno.EEXIST
