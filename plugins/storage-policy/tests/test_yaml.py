"""YAML 1.2 with positions, and bounds that hold before anything grows."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from agentm_storage_policy.parse import examine_bytes
from agentm_storage_policy.reading.front_matter import MAX_BYTES, decode, front_matter
from agentm_storage_policy.reading.yaml_text import MAX_DEPTH, MAX_NODES, Mark, UnreadableYaml, read_yaml


def refused(text, **options):
    with pytest.raises(UnreadableYaml) as caught:
        read_yaml(text, **options)
    return caught.value


@pytest.mark.parametrize(
    "word", ["on", "off", "yes", "no", "Yes", "y", "n", "2024-01-01", "12:30:45", "1_000", "0b1"]
)
def test_words_that_an_older_yaml_would_change_stay_text(word):
    assert read_yaml(f"a: {word}\n{word}: b").value == {"a": word, word: "b"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("-17", -17),
        ("0o17", 15),
        ("0xFF", 255),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ('"true"', "true"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_scalars_mean_what_the_core_schema_says(text, value):
    found = read_yaml(f"a: {text}").value
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_every_key_and_value_has_its_line_and_column():
    document = read_yaml("a:\n  - b: 1\n    c: 2\n", first_line=10)
    assert document.mark_of(("a", 0, "c"), key=True) == Mark(12, 5)
    assert document.mark_of(("a", 0, "c")) == Mark(12, 8)
    assert document.mark_of(("a", 0, "missing")) == Mark(11, 5), "what is not there is where it would be"


def test_aliases_work_until_they_grow():
    assert read_yaml("a: &x [1, 2]\nb: *x\nc: *x").value == {"a": [1, 2], "b": [1, 2], "c": [1, 2]}
    growing = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    assert "aliases" in refused(growing).reason


@pytest.mark.parametrize(
    ("text", "reason", "mark"),
    [
        ("a: 1\na: 2", "twice", (2, 1)),
        ("a: &a [*a]", "alias", (1, 8)),
        ("a: *b", "alias", (1, 4)),
        ("a: !!set {}", "tags", (1, 4)),
        ("a: ! x", "tags", (1, 4)),
        ("!x a: 1", "text", (1, 1)),
        ("a: 1\n---\nb: 2", "second document", (2, 1)),
        ("%YAML 1.1\n---\na: on", "older version", (2, 1)),
        ("[a]: 1", "text", (1, 1)),
        ("1: a", "text", (1, 1)),
        ("a: " + "9" * 5000, "digits", (1, 4)),
        ("a: 0x" + "f" * 5000, "digits", (1, 4)),
        ("a: .nan", "finite", (1, 4)),
        ("a: 1e9999", "finite", (1, 4)),
        ("a: [", "", (1, 5)),
        ("a: \x01", "character", (1, 4)),
        ("a: 'x", "end of stream", (1, 6)),
    ],
)
def test_what_may_not_stand_is_named_with_its_place(text, reason, mark):
    error = refused(text)
    assert reason in error.reason
    assert error.mark == mark


def test_depth_and_number_of_values_are_bounded():
    assert read_yaml("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)).value
    assert "nested" in refused("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH).reason
    assert "nested" in refused("".join(" " * n + "a:\n" for n in range(MAX_DEPTH + 1)) + " " * 40 + "b: 1").reason
    assert "values" in refused("a: [" + "1, " * MAX_NODES + "]").reason


def test_a_document_is_small_and_utf_8():
    with pytest.raises(UnreadableYaml, match="64 KB"):
        decode(b"x" * (MAX_BYTES + 1))
    with pytest.raises(UnreadableYaml, match="UTF-8") as caught:
        decode(b"---\na: \xff\n---\n")
    assert caught.value.mark == (2, 1)


def test_front_matter_is_found_and_not_guessed():
    assert front_matter("---\na: 1\n---\nprose\n---\n") == ("a: 1\n", 2)
    assert front_matter("---\r\na: 1\r\n...\r\n") == ("a: 1\r\n", 2)
    for text in ("a: 1\n", "", "\n---\na: 1\n---\n", "---\na: 1\n", "----\n"):
        with pytest.raises(UnreadableYaml, match="front matter"):
            front_matter(text)


HEAD = "---\nprovider: dev-local\nconfig: {root: /srv/x}\nmetadata:\n"
HOSTILE = {
    "a bomb of aliases": HEAD
    + "  a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"  {c}: &{c} [{', '.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "brackets": HEAD + "  a: " + "[" * 60_000 + "\n",
    "braces": HEAD + "  a: " + "{a: " * 15_000 + "\n",
    "dashes": HEAD + "  " + "- " * 30_000 + "\n",
    "a key twice": HEAD + "  a: 1\n" * 8_000,
    "a long integer": HEAD + "  a: " + "7" * 5_000 + "\n",
    "a long hexadecimal": HEAD + "  a: 0x" + "7" * 5_000 + "\n",
    "a long exponent": HEAD + "  a: 1e" + "7" * 5_000 + "\n",
    "too large": HEAD + "  a: " + "x" * 70_000 + "\n",
    "an open quote": HEAD + "  a: '" + "x" * 60_000,
    "almost addresses": HEAD + "  a: [" + "a." * 30_000 + "\n",
    "almost passwords": HEAD + "  a: [a://" + "b:" * 29_000 + "\n",
    "almost tokens": HEAD + "  a: [" + "-eyJabcdefgh" * 5_000 + "\n",
    "almost keys": HEAD + "  a: [" + "-----BEGIN A B " * 4_000 + "\n",
}


ORDINARY = HEAD + "".join(f"  key{number}: value {number}\n" for number in range(3_000))
"""As large as a document may be, with nothing wrong in its text."""


def processor_time(text):
    """What examining takes at best of five: of the processor's time, so that a busy machine hardly counts."""
    spent = []
    for _ in range(5):
        before = time.process_time()
        examine_bytes((text + "---\n").encode(), "STORAGE.md", providers=())
        spent.append(time.process_time() - before)
    return min(spent)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_costs_no_more_than_a_few_ordinary_ones_and_little_memory(name):
    data = (HOSTILE[name] + "---\n").encode()
    parsed, findings = examine_bytes(data, "STORAGE.md", providers=())
    assert parsed is None
    assert findings[0].code == "storage_config_invalid"
    # A rule that takes quadratic time takes a hundred times as long on a text of this size, on any machine.
    assert processor_time(HOSTILE[name]) < 8 * processor_time(ORDINARY)
    tracemalloc.start()
    examine_bytes(data, "STORAGE.md", providers=())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000
