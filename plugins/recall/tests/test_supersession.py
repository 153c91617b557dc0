"""Which notes are not to be believed any more."""

from __future__ import annotations

import pytest

from agentm_recall.note import Note
from agentm_recall.supersession import claims, names, superseded_keys


def note(slug, *supersedes, project="p", folder="decisions", status="active", updated="2025-01-01", created=""):
    key = f"projects/{project}/{folder}/{slug}.md"
    dates = {"created": created, "updated": updated}
    return Note(key, "decision", status, slug, project=project, supersedes=supersedes, **dates)


def dead(*notes):
    return {key.rpartition("/")[2].removesuffix(".md") for key in superseded_keys(notes)}


def test_a_note_that_another_replaces_is_superseded():
    assert dead(note("old"), note("new", "old")) == {"old"}


def test_a_note_may_say_it_itself():
    assert dead(note("old", status="superseded"), note("other")) == {"old"}


def test_a_chain_leaves_only_its_end():
    assert dead(note("a"), note("b", "a"), note("c", "b")) == {"a", "b"}


def test_a_deleted_note_replaces_nothing():
    assert dead(note("old"), note("new", "old", status="deleted")) == set()


@pytest.mark.parametrize(
    ("created", "status", "is_dead"),
    [
        ("2025-02-02T10:00:00+00:00", "active", False),
        ("2025-02-02T10:00:00+00:00", "superseded", True),
        ("2025-02-01T10:00:00+00:00", "active", True),  # the same day: nobody knows which was first
        ("2025-01-31T10:00:00+00:00", "active", True),
        ("later", "active", True),
        ("", "active", True),
    ],
)
def test_a_note_made_after_the_one_that_names_its_slug_is_another_than_was_meant(created, status, is_dead):
    new = note("new", "old", created="2025-02-01", updated="2025-03-01")
    assert dead(note("old", created=created, status=status), new) == ({"old"} if is_dead else set())


@pytest.mark.parametrize(("status", "is_dead"), [("active", False), ("superseded", True)])
def test_a_note_made_in_the_second_of_the_one_that_names_its_slug_is_another_unless_it_is_marked(status, is_dead):
    moment = "2025-02-01T10:00:00+00:00"
    new = note("new", "old", created=moment)
    assert dead(note("old", created=moment, status=status), new) == ({"old"} if is_dead else set())
    assert claims(new, note("old", created=moment, status=status)) == is_dead


def test_a_slug_is_meant_within_its_project():
    assert dead(note("old", project="q"), note("new", "old")) == set()


def test_a_whole_key_reaches_another_project():
    assert dead(note("old", project="q"), note("new", "projects/q/decisions/old")) == {"old"}


def test_of_two_that_replace_each_other_the_newer_is_right():
    assert dead(note("a", "b", updated="2025-01-01"), note("b", "a", updated="2025-02-01")) == {"a"}


@pytest.mark.parametrize("slugs", ["ab", "ba"])
def test_of_two_that_replace_each_other_the_one_that_is_not_marked_as_replaced_is_right(slugs):
    one, other = slugs
    assert dead(note(one, other), note(other, one, status="superseded", updated="2025-02-01")) == {other}


def test_nobody_replaces_himself():
    assert dead(note("a", "a")) == set()


def test_a_path_tells_notes_of_one_slug_apart():
    assert superseded_keys([note("x"), note("x", folder="facts"), note("new", "facts/x")]) == {
        "projects/p/facts/x.md"
    }


@pytest.mark.parametrize(
    ("reference", "is_meant"),
    [
        ("old", True),
        ("old.md", True),
        ("[[old]]", True),
        ("decisions/old", True),
        ("projects/p/decisions/old.md", True),
        ("ld", False),
        ("facts/old", False),
        ("", False),
    ],
)
def test_a_reference_may_be_written_in_several_ways(reference, is_meant):
    assert names(reference, "projects/p/decisions/old.md") is is_meant
