"""One model of a note, whatever the file says."""

from __future__ import annotations

import pytest

from agentm_recall.layout import is_note, kind_by_place, project_of
from agentm_recall.note import parse_note, title_of

FULL = """---
kind: decision
status: Active
tags: [storage, "#db"]
project: elsewhere
created: 2025-01-01
updated: 2025-02-01
source: agent
confidence: 0.8
supersedes: [old-one]
---

# Use files

Because they last.
"""


def test_every_field_is_read():
    note, body = parse_note("projects/widgets/decisions/use-files.md", FULL)

    assert (note.slug, note.kind, note.status, note.title) == ("use-files", "decision", "active", "Use files")
    assert (note.tags, note.supersedes) == (("storage", "db"), ("old-one",))
    assert (note.created, note.updated, note.changed) == ("2025-01-01", "2025-02-01", "2025-02-01")
    assert (note.source, note.confidence, note.problem) == ("agent", 0.8, None)
    assert body == "\n# Use files\n\nBecause they last.\n"


def test_the_folder_says_whose_note_it_is():
    assert parse_note("projects/widgets/decisions/a.md", FULL)[0].project == "widgets"
    assert parse_note("personal/facts/a.md", FULL)[0].project is None
    assert parse_note("facts/a.md", FULL)[0].project == "elsewhere"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("projects/p/decisions/a.md", "decision"),
        ("projects/p/known-issues/deep/a.md", "known-issue"),
        ("projects/p/_index.md", "index"),
        ("personal/_always-load/a.md", "always-load"),
        ("somewhere/a.md", "note"),
    ],
)
def test_a_note_that_does_not_say_its_kind_has_that_of_its_place(key, kind):
    assert kind_by_place(key) == kind
    assert parse_note(key, "text")[0].kind == kind


@pytest.mark.parametrize(
    ("value", "confidence"), [("0", 0.0), ("1", 1.0), ("2", None), ("high", None), ("", None), ("nan", None)]
)
def test_a_confidence_that_is_none_says_nothing(value, confidence):
    assert parse_note("a.md", f"---\nconfidence: {value}\n---\nx")[0].confidence == confidence


@pytest.mark.parametrize("tags", ["[a, b]", "a, b", "\n  - a\n  - b", "\n- a\n- '#b'"])
def test_tags_are_a_list_however_they_are_written(tags):
    assert parse_note("a.md", f"---\ntags: {tags}\n---\nx")[0].tags == ("a", "b")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("\n\n# Heading\ntext", "Heading"),
        ("First line\n# Heading", "Heading"),
        ("First line\nsecond", "First line"),
        ("#tag is no heading\n", "#tag is no heading"),
        ("", ""),
    ],
)
def test_the_title_is_the_first_heading_or_the_first_line(body, title):
    assert title_of(body) == title


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        ("projects/p/decisions/a.md", True),
        ("projects/p/_index.md", True),
        ("personal/_always-load/a.md", True),
        ("projects/p/_harness/PLAN.md", False),
        ("_meta/store.md", False),
        ("_harness/a.md", False),
        (".trash/a.md", False),
        ("projects/.hidden/a.md", False),
        ("projects/p/image.png", False),
        ("my_harness_notes/a.md", True),
    ],
)
def test_state_and_hidden_files_are_not_notes(key, is_one):
    assert is_note(key) is is_one


@pytest.mark.parametrize(
    ("key", "project"),
    [
        ("projects/p/a.md", "p"),
        ("personal-projects/q/d/a.md", "q"),
        ("projects/a.md", None),
        ("personal/facts/a.md", None),
    ],
)
def test_a_project_is_known_by_its_folder(key, project):
    assert project_of(key) == project
