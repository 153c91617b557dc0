"""Entries are written the way the file is written, and what is made for them is known afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from agentm_hosts.files import json_edit, toml_edit
from agentm_hosts.files.json_edit import Unfit
from agentm_hosts.files.json_tree import Node, NotJson, parse
from agentm_hosts.place import SET, Entry

VALUE = Entry(("a", "b"), {"n": "é"}, SET)
ITEM = Entry(("a", "b"), {"n": 1})
PLAIN = Entry(("b",), 1, SET)


# -- JSON with positions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: a value was expected"),
        ("\n  x", "line 2, column 3: a value was expected"),
        ('{"a": 1 "b": 2}', "line 1, column 9: a comma or } was expected"),
        ("[1 2]", "line 1, column 4: a comma or ] was expected"),
        ("[1\n,\n}", "line 3, column 1: a value was expected"),
        ("{\n  a: 1}", "line 2, column 3: a key in quotes was expected"),
        ('{"a" 1}', "line 1, column 6: a colon was expected"),
        ('{"a": 1, }', "line 1, column 10: there is a comma before a closing bracket"),
        ("[1,\n]", "line 2, column 1: there is a comma before a closing bracket"),
        ("1 // x", "line 1, column 3: there is a comment"),
        ("1\n 2", "line 2, column 2: something follows the value"),
        ('{"a": 1,\n "a": 2}', "line 2, column 2: the key 'a' is given twice"),
        ("\ufeff\ufeff1", "line 1, column 2: a value was expected"),
    ],
)
def test_what_is_wrong_with_a_text_is_said_with_its_line_and_column(text: str, said: str) -> None:
    with pytest.raises(NotJson) as wrong:
        parse(text, comments=False)
    assert str(wrong.value) == said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\ufeff {} ", {}),
        ("[]", []),
        ('[1, -2.5e3, true, false, null, "\\u00e9\\n"]', [1, -2500.0, True, False, None, "é\n"]),
        ('{"a": {"b": [{}, []]}, "": 0}', {"a": {"b": [{}, []]}, "": 0}),
        ('"text"', "text"),
    ],
)
def test_a_text_is_read_as_json(text: str, value: Any) -> None:
    assert parse(text, comments=False).value == value


def test_comments_and_last_commas_are_passed_over_where_the_program_does_so_too() -> None:
    text = '/* a\n */ {// b\n"x" /* c */ : [1, /* , */ 2, ], // }\n }\n// end'
    assert parse(text, comments=True).value == {"x": [1, 2]}


def test_where_each_value_and_member_stands_is_known() -> None:
    text = '\ufeff{ "a" : [ 10, {"b": null} ], "c":"d" }'

    def at(node: Node) -> str:
        return text[node.start : node.end]

    root = parse(text, comments=False)
    assert at(root) == text[1:]
    assert [at(item) for item in root.items] == ['[ 10, {"b": null} ]', '"d"']
    assert [text[root.begins(number) :][:3] for number in (0, 1)] == ['"a"', '"c"']
    items = root.items[0]
    assert [text[items.begins(number) :][:2] for number in (0, 1)] == ["10", '{"']
    inner = root.at(("a",))
    assert inner is items
    assert root.at(("a", "b")) is None
    assert root.at(("x", "b")) is None
    assert root.at(()) is root


# -- putting in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "entry", "after", "made"),
    [
        ("", PLAIN, '{\n  "b": 1\n}\n', ()),
        ("", VALUE, '{\n  "a": {\n    "b": {\n      "n": "é"\n    }\n  }\n}\n', ("a",)),
        ("\ufeff", PLAIN, '\ufeff{\n  "b": 1\n}\n', ()),
        ("\ufeff\n", PLAIN, '\ufeff\n{\n  "b": 1\n}\n', ()),
        (" \n", PLAIN, '{\n  "b": 1\n}\n \n', ()),
        ("{}", PLAIN, '{\n  "b": 1\n}', ()),
        ("\ufeff{}", PLAIN, '\ufeff{\n  "b": 1\n}', ()),
        ("{\n}", PLAIN, '{\n  "b": 1\n}', ()),
        ("  {\r\n}", PLAIN, '  {\r\n    "b": 1\r\n}', ()),
        ('{"x": 1}', VALUE, '{"x": 1, "a": {"b": {"n": "é"}}}', ("a",)),
        ('{"x": 1}', ITEM, '{"x": 1, "a": {"b": [{"n": 1}]}}', ("a",)),
        ('{\n\t"x": 1\n}\n', PLAIN, '{\n\t"x": 1,\n\t"b": 1\n}\n', ()),
        ('{\n\t"x": 1\n}', VALUE, '{\n\t"x": 1,\n\t"a": {\n\t\t"b": {\n\t\t\t"n": "é"\n\t\t}\n\t}\n}', ("a",)),
        ('{\r\n    "x": 1\r\n}\r\n', PLAIN, '{\r\n    "x": 1,\r\n    "b": 1\r\n}\r\n', ()),
        ('{\n  "a": {}\n}', VALUE, '{\n  "a": {\n    "b": {\n      "n": "é"\n    }\n  }\n}', ()),
        ('{\n "a": {}\n}', ITEM, '{\n "a": {\n  "b": [\n   {\n    "n": 1\n   }\n  ]\n }\n}', ("a", "b")),
        ('{"a": {}}', VALUE, '{"a": {"b": {"n": "é"}}}', ()),
        ('{"a": {}}\n', ITEM, '{"a": {"b": [{"n": 1}]}}\n', ("a", "b")),
        ('{\n  "a": {\n  }\n}', VALUE, '{\n  "a": {\n    "b": {\n      "n": "é"\n    }\n  }\n}', ()),
        ('{"x": 1,\n "a": {"y": 2}}', VALUE, '{"x": 1,\n "a": {"y": 2, "b": {"n": "é"}}}', ()),
        ('{"x": 1,\n "y": {}}', PLAIN, '{"x": 1,\n "y": {},\n "b": 1}', ()),
        ('{\n  "a": {"b": []}\n}', ITEM, '{\n  "a": {"b": [\n    {\n      "n": 1\n    }\n  ]}\n}', ()),
        ('{"a": {"b": []}}', ITEM, '{"a": {"b": [{"n": 1}]}}', ()),
        ('{"a": {"b": [7]}}', ITEM, '{"a": {"b": [7, {"n": 1}]}}', ()),
        ('{"a": {"b": [\n    7\n]}}', ITEM, '{"a": {"b": [\n    7,\n    {\n      "n": 1\n    }\n]}}', ()),
        ('{"x": 1,}', PLAIN, '{"x": 1, "b": 1,}', ()),
        ("\n  {}", PLAIN, '\n  {\n    "b": 1\n  }', ()),
        ("{}", Entry(("é",), "ü", SET), '{\n  "é": "ü"\n}', ()),
        ('{"x": 1}', Entry(("é",), "ü", SET), '{"x": 1, "é": "ü"}', ()),
        ("{ // c\n}", PLAIN, '{\n  "b": 1 // c\n}', ()),
    ],
)
def test_an_entry_is_written_as_the_rest_of_the_file_is(
    text: str, entry: Entry, after: str, made: tuple[str, ...]
) -> None:
    written, insertion, container = json_edit.insert(text, entry, comments=True)
    assert (written, container) == (after, made)
    assert insertion is not None
    at, added, taken = insertion
    assert (after[:at] + after[at + len(added) :], taken) == (text, "")


@pytest.mark.parametrize(
    ("text", "entry"),
    [('{"a": {"b": {"n": "é"}}}', VALUE), ('{"a": {"b": [7, {"n": 1}]}}', ITEM), ('{"b": 1}', PLAIN)],
)
def test_what_is_there_is_not_put_in_again(text: str, entry: Entry) -> None:
    assert json_edit.insert(text, entry, comments=False) == (text, None, ())


@pytest.mark.parametrize(
    ("text", "entry", "why"),
    [
        ('{"a": {"b": 3}}', VALUE, "a.b has another value"),
        ('{"a": {"b": 3}}', ITEM, "a.b is not a list"),
        ('{"a": 3}', VALUE, "a is not an object"),
        ('{"a": [{"b": 3}]}', ITEM, "a is not an object"),
        ("[1]", PLAIN, "it is not an object"),
    ],
)
def test_what_stands_in_the_way_is_named(text: str, entry: Entry, why: str) -> None:
    with pytest.raises(Unfit) as unfit:
        json_edit.insert(text, entry, comments=False)
    assert str(unfit.value) == why


def test_a_comment_is_refused_where_the_program_reads_none() -> None:
    with pytest.raises(NotJson, match="there is a comment"):
        json_edit.insert('{"x": 1} // c', PLAIN, comments=False)
    with pytest.raises(NotJson, match="there is a comment"):
        json_edit.remove('{"b": 1} // c', ("b",), lambda _: True, comments=False)
    with pytest.raises(NotJson, match="there is a comment"):
        json_edit.remove_if_empty('{"b": {}} // c', ("b",), 1, comments=False)


# -- taking out -------------------------------------------------------------------------------------------------


def is_two(value: object) -> bool:
    return value == 2


@pytest.mark.parametrize(
    ("text", "left", "gone"),
    [
        ('{"a": 2}', "{}", 1),
        ('{"a": 2, "b": 3}', '{"b": 3}', 1),
        ('{"b": 3, "a": 2}', '{"b": 3}', 1),
        ('{\n  "b": 3,\n  "a": 2\n}', '{\n  "b": 3\n}', 1),
        ('{"a": [2, 1, 2]}', '{"a": [1]}', 2),
        ('{"a": [{"hooks": [2, 1]}, {"hooks": 2}, 3]}', '{"a": [{"hooks": [1]}, {"hooks": 2}, 3]}', 1),
        ('{"a": [2, {"hooks": [2]}]}', '{"a": [{"hooks": []}]}', 2),
        ('{"a": [2,]}', '{"a": []}', 1),
        ('{"a": [/* x */ 2, ]}', '{"a": [/* x */  ]}', 1),
        ('{"a": [2 /* , */,], "b": 1}', '{"a": [ /* , */], "b": 1}', 1),
        ('{"a": [2 // ,\n], "b": 1}', '{"a": [ // ,\n], "b": 1}', 1),
        ('{"a": 3}', '{"a": 3}', 0),
        ('{"b": 2}', '{"b": 2}', 0),
        ('{"b": {"a": 2}}', '{"b": {"a": 2}}', 0),
        ("", "", 0),
        ("\ufeff\n", "\ufeff\n", 0),
    ],
)
def test_every_entry_of_ours_is_taken_out_with_its_comma(text: str, left: str, gone: int) -> None:
    assert json_edit.remove(text, ("a",), is_two, comments=True) == (left, gone)


@pytest.mark.parametrize(
    ("text", "shortest", "left"),
    [
        ('{"a": {"b": {"c": []}}, "x": 1}', 1, '{"x": 1}'),
        ('{"a": {"b": {"c": []}}, "x": 1}', 0, '{"x": 1}'),
        ('{"a": {"b": {"c": []}}, "x": 1}', 2, '{"a": {}, "x": 1}'),
        ('{"a": {"b": {"c": []}}, "x": 1}', 3, '{"a": {"b": {}}, "x": 1}'),
        ('{"a": {"b": {"c": [1]}}}', 1, '{"a": {"b": {"c": [1]}}}'),
        ('{"a": {"b": {"c": "", "d": 1}}}', 1, '{"a": {"b": {"c": "", "d": 1}}}'),
        ('{"a": {"b": {"c": [ ]}, "y": 1}}', 1, '{"a": {"y": 1}}'),
        ('{"a": {"b": {"c": [/* mine */]}}}', 1, '{"a": {"b": {"c": [/* mine */]}}}'),
        ('{"a": {"b": {}}}', 1, "{}"),
        ('{"a": {}}', 1, "{}"),
        ("{}", 1, "{}"),
    ],
)
def test_what_was_made_for_us_goes_once_it_is_empty(text: str, shortest: int, left: str) -> None:
    assert json_edit.remove_if_empty(text, ("a", "b", "c"), shortest, comments=True) == left


# -- TOML -------------------------------------------------------------------------------------------------------

TABLE = Entry(("servers", "ours"), {"command": "x", "args": ["y"]}, SET)
BLOCK = '[servers.ours]\ncommand = "x"\nargs = ["y"]\n'


@pytest.mark.parametrize(
    ("text", "after", "made"),
    [
        ("", BLOCK, ("servers",)),
        ("\ufeff", f"\ufeff{BLOCK}", ("servers",)),
        ("a = 1\n", f"a = 1\n\n{BLOCK}", ("servers",)),
        ("a = 1", f"a = 1\n\n{BLOCK}", ("servers",)),
        ("a = 1\r\n", f"a = 1\n\n{BLOCK}".replace("\n", "\r\n"), ("servers",)),
        ("[servers.b]\nc = 1\n", f"[servers.b]\nc = 1\n\n{BLOCK}", ()),
        ("servers = {b = {}}\n", 'servers = {b = {},ours = {command = "x", args = ["y"]}}\n', ()),
    ],
)
def test_a_table_is_put_behind_the_text_or_into_the_table_that_is_there(
    text: str, after: str, made: tuple[str, ...]
) -> None:
    written, insertion, container = toml_edit.insert(text, TABLE)
    assert (written, container) == (after, made)
    assert insertion is not None
    at, added, taken = insertion
    assert after[:at] + taken + after[at + len(added) :] == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[servers.ours]\ncommand = 'y'\n", "servers.ours has another value"),
        ("servers = 1\n", "servers cannot take another entry"),
        ("[[servers]]\na = 1\n", "servers cannot take another entry"),
    ],
)
def test_a_table_that_does_not_fit_is_said(text: str, why: str) -> None:
    with pytest.raises(Unfit) as unfit:
        toml_edit.insert(text, TABLE)
    assert str(unfit.value) == why


def test_only_what_we_put_into_a_table_is_remembered() -> None:
    """Settings hold credentials, and the receipt holds what was put in and what it took the place of."""
    _, insertion, _ = toml_edit.insert('key = "secret"\nservers = {b = {k = "secret"}} # secret\n', TABLE)
    assert insertion is not None
    assert insertion[1:] == (',ours = {command = "x", args = ["y"]}', "")


def test_toml_has_no_list_to_add_to_and_a_table_that_is_there_is_right() -> None:
    with pytest.raises(Unfit, match="in JSON only"):
        toml_edit.insert("", ITEM)
    assert toml_edit.insert(BLOCK, TABLE) == (BLOCK, None, ())


@pytest.mark.parametrize(
    ("text", "made", "left", "gone"),
    [
        (f"a = 1\n\n{BLOCK}", ("servers",), "a = 1\n\n", 1),
        (f"\ufeffa = 1\n\n{BLOCK}", (), "\ufeffa = 1\n\n", 1),
        (f"[servers]\n\n{BLOCK}", (), "[servers]\n\n", 1),
        (f"[servers]\n\n{BLOCK}", ("servers",), "", 1),
        (f"[servers.b]\nc = 1\n\n{BLOCK}", ("servers",), "[servers.b]\nc = 1\n\n", 1),
        ("a = 1\n", ("servers",), "a = 1\n", 0),
        ("[servers.ours]\ncommand = 'y'\n", ("servers",), "[servers.ours]\ncommand = 'y'\n", 0),
        (f"{BLOCK}# Of what follows.\n[b]\nc = 1\n", ("servers",), "# Of what follows.\n[b]\nc = 1\n", 1),
    ],
)
def test_a_table_of_ours_goes_and_the_one_around_it_if_it_was_made_for_it(
    text: str, made: tuple[str, ...], left: str, gone: int
) -> None:
    found = toml_edit.remove(text, ("servers", "ours"), lambda value: value == TABLE.value, made)
    assert found == (left, gone)
