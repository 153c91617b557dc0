"""Outlines: quick to read, and believed only where the listing agrees."""

from __future__ import annotations

import pytest
from widgets import PROJECT

from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer
from agentm_recall import Draft, RecallIndex, forget_note, phase_recall, save_note
from agentm_recall.index.outlines import read_outlines


class Counting(BackendLayer):
    def __init__(self, inner):
        super().__init__(inner)
        self.reads = []

    def read(self, locator):
        self.reads.append(locator.key)
        return super().read(locator)


@pytest.fixture
def notes(home, store):
    for number in range(20):
        text = f"---\nupdated: 2025-01-{number + 10}\nstatus: active\n---\n# Note {number}\n" + "words " * 100
        home.note(f"projects/widgets/decisions/n{number:02}.md", text)
    home.note("personal/_always-load/tone.md", "# Tone\n")
    RecallIndex(store).update()
    return Counting(store)


def outlines(store, project="widgets"):
    return read_outlines(RecallIndex(store).path(), project)


def test_every_note_of_a_project_has_a_line_with_its_version(notes):
    known = outlines(notes)

    assert len(known) == 20
    version, note = known["projects/widgets/decisions/n03.md"]
    assert version == notes.info(Locator("projects/widgets/decisions/n03.md")).version
    assert (note.status, note.changed, note.project) == ("active", "2025-01-13", "widgets")
    assert list(outlines(notes, None)) == ["personal/_always-load/tone.md"]


def test_only_the_notes_that_are_shown_are_read(notes):
    text = phase_recall("work", "widgets", backend=notes, budget=700)

    read = {key for key in notes.reads if key.startswith("projects/widgets/decisions")}
    assert 0 < len(read) < 20
    assert any(key.removesuffix(".md") in text for key in read)


@pytest.mark.parametrize("change", ["save", "forget", "by hand", "delete"])
def test_a_change_is_seen_at_once(notes, home, change):
    place = Locator("projects/widgets/decisions/n19.md")
    if change == "save":
        done = save_note(notes, Draft("decision", "fresh", "# Brand new"), project=PROJECT)
        RecallIndex(notes).note_written([done.locator])
    elif change == "forget":
        forget_note(notes, place)
    elif change == "delete":
        notes.delete(place)
    else:
        home.note(place.key, "---\nstatus: superseded\n---\n# Note 19\n")

    text = phase_recall("work", "widgets", backend=notes, budget=700)

    assert ("decisions/fresh" in text) is (change == "save")
    assert ("decisions/n19" in text) is (change == "save")


def test_what_a_save_changes_is_in_the_lines(notes):
    done = save_note(notes, Draft("decision", "new", "# New", supersedes=("n05",)), project=PROJECT)
    RecallIndex(notes).note_written([done.locator, *done.superseded])

    known = outlines(notes)

    assert known[done.locator.key][1].supersedes == ("n05",)
    assert known["projects/widgets/decisions/n05.md"][1].status == "superseded"


def test_a_project_without_notes_has_no_lines_left(notes, home):
    for file in (home.root / "projects/widgets/decisions").iterdir():
        file.unlink()

    RecallIndex(notes).update()

    assert outlines(notes) == {}


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"something else\na\tb\tc\td\te\n", b"agentm-recall outlines 1\na\tb\n\x00\x00\n"]
)
def test_a_file_that_is_none_says_nothing(notes, home, content):
    next(home.index_file().parent.rglob("project widgets")).write_bytes(content)

    assert outlines(notes) == {}
    assert "decisions/n19" in phase_recall("work", "widgets", backend=notes, budget=700)


def test_lines_of_an_older_version_are_not_believed(notes, home):
    file = next(home.index_file().parent.rglob("project widgets"))
    file.write_text(
        file.read_text().replace("\tactive\t", "\tdeleted\t").replace("decisions/n19.md\t", "decisions/n19.md\told")
    )

    text = phase_recall("work", "widgets", backend=notes)

    assert "decisions/n19" in text
    assert "decisions/n18" not in text
