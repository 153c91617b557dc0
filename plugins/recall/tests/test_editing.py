"""An edit changes the fields it means and not one other byte, or it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.editing import with_body, with_fields
from agentm_recall.note import parse_note
from agentm_recall.rendering import new_text

ODD = """---
# written by hand
kind:   decision     # spaced
tags:
    - storage  # why
    - two words

status: "active"
aliases: {a: [1, 2], b: 'x'}
long: >-
  folded
  text
empty:
"odd key": kept
---

# Title
"""


def test_only_the_meant_values_change():
    edited = with_fields("a.md", ODD, {"status": "deleted", "kind": "fact", "empty": "now", "updated": "2025-01-01"})

    assert edited == (
        ODD.replace('"active"', '"deleted"')
        .replace("decision ", "fact ")
        .replace("empty:\n", "empty: now\n")
        .replace('"odd key": kept\n', '"odd key": kept\nupdated: 2025-01-01\n')
    )


def test_a_list_keeps_its_style():
    assert "tags:\n    - a\n    - 'b: c'\n" in with_fields("a.md", ODD, {"tags": ["a", "b: c"]}).replace('"', "'")
    assert "tags: [x, y z]\n" in with_fields("a.md", "---\ntags: [a]\n---\n", {"tags": ["x", "y z"]})


def test_a_block_scalar_is_replaced_whole():
    assert with_fields("a.md", ODD, {"long": "short"}) == ODD.replace("long: >-\n  folded\n  text\n", "long: short\n")


def test_line_endings_and_byte_order_mark_are_kept():
    text = "\ufeff---\r\nkind: x\r\n---\r\nbody\r\n"

    assert (
        with_fields("a.md", text, {"kind": "v", "status": "z"})
        == "\ufeff---\r\nkind: v\r\nstatus: z\r\n---\r\nbody\r\n"
    )


def test_a_note_without_front_matter_gets_one():
    assert (
        with_fields("a.md", "\ufeffbody\r\n", {"status": "deleted"})
        == "\ufeff---\r\nstatus: deleted\r\n---\r\nbody\r\n"
    )
    assert with_fields("a.md", "body", {"status": "deleted"}) == "---\nstatus: deleted\n---\nbody"


def test_an_empty_front_matter_is_filled():
    assert with_fields("a.md", "---\n---\nbody", {"status": "deleted"}) == "---\nstatus: deleted\n---\nbody"


@pytest.mark.parametrize(
    "yaml",
    [
        "status: [open\n",
        "status: a\nstatus: b\n",
        "other: a\nother: b\n",
        "{status: active}\n",
        "status: &here active\nother: *here\n",
        "status: {a: b}\n",
        "- status\n",
        "\tstatus: active\n",
    ],
)
def test_what_cannot_be_edited_exactly_is_refused_and_named(yaml):
    with pytest.raises(InvalidContentError, match=r"personal/a\.md"):
        with_fields("personal/a.md", f"---\n{yaml}---\nbody\n", {"status": "deleted"})


def test_front_matter_that_never_ends_is_not_taken_for_text():
    with pytest.raises(InvalidContentError, match="does not end"):
        with_fields("a.md", "---\nkind: x\n", {"status": "deleted"})


@pytest.mark.parametrize(
    "value", ["yes", "null", "a: b", "# no", "- x", "'", '"', "a #b", "1.0", "ünï", "[a]", "{", "%", "@x", "a\tb"]
)
def test_a_value_is_read_back_as_it_was_meant(value):
    text = with_fields("a.md", "---\nkind: x\n---\n", {"kind": value, "tags": [value, "b"]})

    note, _ = parse_note("a.md", text)

    assert note.kind == " ".join(value.split())
    assert note.problem is None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["kind: x", "other: 'a b'", "# c", "", "tags: [a]", "n:\n  - 1\n  - 2", "m: {a: b}"]),
        max_size=5,
        unique=True,
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
)
def test_whatever_is_set_the_rest_stays_as_it_is(lines, value, newline):
    yaml = "".join(f"{line}\n" for line in lines)
    text = f"---\n{yaml}---\nbody\n".replace("\n", newline)

    edited = with_fields("a.md", text, {"status": value})

    assert edited.startswith(text[: -len(f"---{newline}body{newline}")])
    assert edited.endswith(f"---{newline}body{newline}")
    assert edited.count(newline) == text.count(newline) + 1


def test_a_new_note_is_read_back():
    text = new_text({"kind": "fact", "tags": ("a", "b: c"), "source": "agent"}, "# Title\n\nBody\n")

    note, body = parse_note("personal/facts/a.md", text)

    assert (note.kind, note.tags, note.source, body) == ("fact", ("a", "b: c"), "agent", "\n# Title\n\nBody\n")


def test_another_body_stays_below_the_same_front_matter():
    assert with_body("---\nkind: x # y\n---\n\nold\n", "new\n") == "---\nkind: x # y\n---\n\nnew\n"
    assert with_body("old", "new\n") == "new\n"
