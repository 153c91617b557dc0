"""Reading front matter: as the YAML library reads it, and without it wherever that is certain."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings, strategies as st

from agentm_recall.front_matter import MAX_CHARACTERS, find_block, plain_fields, read_fields
from agentm_recall.note import parse_note
from agentm_recall.yaml_fields import library_fields


@pytest.mark.parametrize(
    ("yaml", "fields"),
    [
        ("kind: decision\n", {"kind": "decision"}),
        ("kind:   spaced out  \n", {"kind": "spaced out"}),
        ("tags: [a, b c, d]\n", {"tags": ["a", "b c", "d"]}),
        ("tags: []\n", {"tags": []}),
        ("tags:\n  - a\n  - b\nkind: x\n", {"tags": ["a", "b"], "kind": "x"}),
        ("tags:\n- a\n- b\n", {"tags": ["a", "b"]}),
        ("empty:\nkind: x\n", {"empty": "", "kind": "x"}),
        ("empty:\n", {"empty": ""}),
        ('title: "a: b # c"\n', {"title": "a: b # c"}),
        ("title: 'it [is]'\n", {"title": "it [is]"}),
        ("# a comment\n\nkind: x\r\nstatus: y\r\n", {"kind": "x", "status": "y"}),
        ("confidence: 0.50\nyes: no\n", {"confidence": "0.50", "yes": "no"}),
        ("url: https://a.b/c#d\n", {"url": "https://a.b/c#d"}),
        ("", {}),
    ],
)
def test_what_is_plain_is_read_without_the_library_and_alike(yaml, fields):
    assert plain_fields(yaml) == fields
    assert library_fields(yaml) == (fields, None)


@pytest.mark.parametrize(
    "yaml",
    [
        "kind: a # comment\n",
        "kind: a: b\n",
        "kind: |\n  block\n",
        "kind: >-\n  folded\n  text\n",
        "kind: two\n  lines\n",
        "kind: 'it''s'\n",
        'kind: "a\\nb"\n',
        "kind: &anchor x\nother: *anchor\n",
        "kind: !!str x\n",
        "kind: {a: b}\n",
        "tags: [a, [b]]\n",
        "tags: [a,, b]\n",
        "tags:\n  - a\n   - b\n",
        "kind: a\nkind: b\n",
        "\tkind: a\n",
        "kind:\ta\n",
        "? complex\n: key\n",
        "kind:value\n",
        "- a\n- b\n",
        "kind: ~\n",
        "kind: -5\n",
        "kind: a\u2028b\n",
        " kind: indented\n",
        "kind: 'open\n",
        "%YAML 1.1\n",
    ],
)
def test_what_is_not_beyond_doubt_is_left_to_the_library(yaml):
    assert plain_fields(yaml) is None


_LINES = st.lists(
    st.one_of(
        st.from_regex(r"[a-z_-]{1,6}:( [^\n\r]{0,12})?", fullmatch=True),
        st.from_regex(r" {0,3}- [^\n\r]{0,10}", fullmatch=True),
        st.sampled_from(
            ["", "# note", "tags: [a, b]", "tags:", "  - x", "- y", "a: 'b'", 'a: "b"', "a: b: c", "a: b #c"]
        ),
    ),
    max_size=6,
)


@settings(max_examples=400, deadline=None)
@given(_LINES)
@example(["a:", "b: x"])
@example(["a:", "- x", "", "- y"])
@example(["a: [b c, d]", "e: C#", "f: x:y", "g: a -b"])
def test_the_two_readers_never_disagree(lines):
    yaml = "\n".join(lines) + "\n"

    fields = plain_fields(yaml)

    if fields is not None:
        assert library_fields(yaml) == (fields, None)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\nkind: x\n---\nbody\n", "body\n"),
        ("---\r\nkind: x\r\n---\r\nbody\r\n", "body\r\n"),
        ("\ufeff---\nkind: x\n---\nbody", "body"),
        ("--- \nkind: x\n---  \nbody", "body"),
        ("---\nkind: x\n...\nbody", "body"),
        ("---\n---\n", ""),
        ("---\nkind: x\n---", ""),
    ],
)
def test_the_block_is_found_however_the_lines_end(text, body):
    block = find_block(text)

    assert block is not None
    assert text[block.body :] == body


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "# heading\n---\n",
        "---",
        "---\nkind: x\n",
        "----\nkind: x\n----\n",
        " ---\nkind: x\n---\n",
        "---\nx: |\n  ---\n",
    ],
)
def test_without_a_block_all_of_it_is_text(text):
    assert find_block(text) is None
    assert parse_note("personal/facts/a.md", text)[1] == text


def test_a_block_without_end_is_not_looked_for_for_ever():
    text = "---\n" + "key: value\n" * 400_000

    start = time.monotonic()

    assert find_block(text) is None
    assert time.monotonic() - start < 5
    assert find_block("---\n" + "k: v\n" * (MAX_CHARACTERS // 5 + 1) + "---\n") is None


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("kind: [open\n", "not YAML"),
        ("kind: a\n\tstatus: b\n", "not YAML"),
        ("- a\n- b\n", "not a list"),
        ("kind: a\nkind: b\n", "twice"),
        ("a: " + "[" * 4000, "not YAML"),
        ("a: " + "[" * 5000, "longer than 4,096"),
        ("a: b\x00c\n", "not YAML"),
    ],
)
def test_a_broken_block_costs_the_fields_and_says_why(yaml, problem):
    note, body = parse_note("projects/p/decisions/a.md", f"---\n{yaml}\n---\nThe text.\n")

    assert problem in (note.problem or "")
    assert body == "The text.\n"
    assert (note.kind, note.title) == ("decision" if "twice" not in problem else "b", "The text.")


def test_the_last_of_two_keys_counts():
    assert read_fields("kind: a\nkind: b\n")[0] == {"kind": "b"}


def test_a_bomb_of_aliases_does_not_go_off():
    names = "abcdefghijklmnop"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]" for before, after in pairwise(names)]

    start = time.monotonic()
    fields, _ = read_fields("\n".join(lines) + "\n")

    assert fields["a"] == ["x"] * 9
    assert time.monotonic() - start < 10


def test_a_plain_note_is_read_without_importing_the_library():
    code = (
        "import sys; from agentm_recall.note import parse_note\n"
        "parse_note('personal/facts/a.md', '---\\nkind: fact\\ntags: [a, b]\\n---\\nx')\n"
        "print(any(name.startswith('ruamel') for name in sys.modules))\n"
        "parse_note('personal/facts/a.md', '---\\nkind: fact # sure\\n---\\nx')\n"
        "print(any(name.startswith('ruamel') for name in sys.modules))\n"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert result.stdout.split() == ["False", "True"]


def test_a_block_may_be_as_long_as_this_and_no_longer():
    def text(length: int, end: str = "---\n") -> str:
        return "---\n" + "k: v\n" + "#" * (length - 6) + "\n" + end

    assert MAX_CHARACTERS == 16_384
    for end in ("---\n", "...\n", "--- \n"):
        assert find_block(text(MAX_CHARACTERS - 4, end)) is not None
        assert find_block(text(MAX_CHARACTERS + 1, end)) is None


@pytest.mark.parametrize(("spaces", "is_one"), [(76, True), (77, False)])
def test_the_first_line_may_end_in_some_spaces(spaces, is_one):
    assert (find_block(f"---{' ' * spaces}\nkind: x\n---\n") is not None) is is_one


@pytest.mark.parametrize(
    ("text", "yaml"),
    [
        ("---\na: b\n---\nx\n---\n", "a: b\n"),
        ("---\na: b\n----\nc: d\n---\n", "a: b\n----\nc: d\n"),
        ("---\na: b\n...\nc: d\n---\n", "a: b\n"),
        ("---\na: b\n...more\nc: d\n---\n", "a: b\n...more\nc: d\n"),
        ("---\n---\nx", ""),
        ("---\na: b\n--- \t\nx", "a: b\n"),
    ],
)
def test_the_block_ends_at_the_first_line_that_ends_one(text, yaml):
    block = find_block(text)
    assert text[block.start : block.end] == yaml


@pytest.mark.parametrize(("length", "is_read"), [(4096, True), (4097, False)])
def test_the_library_is_given_so_many_characters(length, is_read):
    yaml = "kind: a # "
    fields, problem = read_fields(yaml + "x" * (length - len(yaml)))
    assert (fields, problem is None) == (({"kind": "a"}, True) if is_read else ({}, False))


@pytest.mark.parametrize(
    ("key", "is_plain"),
    [("a" * 99, True), ("a" * 100, False), ("1a", False), ("a-b_c", True), ("é", False), ("-a", False)],
)
def test_a_plain_key_is_a_short_word(key, is_plain):
    assert (plain_fields(f"{key}: x\n") is not None) is is_plain


@pytest.mark.parametrize(
    ("yaml", "fields"),
    [
        ("tags:\n- a\n\n- b\nkind: x\n", {"tags": ["a", "b"], "kind": "x"}),
        ("tags:\n  - 'a'\n  -  b\n", {"tags": ["a", "b"]}),
        ("a:\nb:\nc: x\n", {"a": "", "b": "", "c": "x"}),
        ("title: x:y\n", {"title": "x:y"}),
        ("title: ''\n", {"title": ""}),
        ("tags: [ a ,b ]\n", {"tags": ["a", "b"]}),
        ("kind: x \n", {"kind": "x"}),
        ("mood: calm\n#\nkind: x\n", {"mood": "calm", "kind": "x"}),
    ],
)
def test_more_that_is_plain(yaml, fields):
    assert plain_fields(yaml) == fields
    assert library_fields(yaml) == (fields, None)


@pytest.mark.parametrize(
    "yaml",
    ["kind: x:\n", "kind: a #b\n", "title: '\n", 'title: "a\\\\b"\n', "tags: [a\n", "tags: [-a]\n", "k: x\nk: y\n"],
)
def test_more_that_is_left_to_the_library(yaml):
    assert plain_fields(yaml) is None


@pytest.mark.parametrize(("depth", "is_read"), [(50, True), (51, False)])
def test_brackets_may_be_so_deep(depth, is_read):
    _, problem = library_fields(f"a: {'[' * depth}{']' * depth}\nb: {{c: [d]}}\n")
    assert problem == (None if is_read else "its front matter is not YAML: it is nested too deeply")


def test_a_broken_line_is_named_by_its_number_in_the_note():
    assert "line 3: " in (library_fields("a: b\nc: d: e\n")[1] or "")


def test_values_of_other_shapes_are_left_out():
    assert library_fields("a: {b: c}\nd: [e, [f], {g: h}, 3]\n? [k]\n: v\nn: 1.50\n") == (
        {"d": ["e", "3"], "n": "1.50"},
        None,
    )
