"""Outlines: quick to read, and believed only as long as no folder has changed."""

from __future__ import annotations

import os
import time

import pytest
from widgets import PROJECT

from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer
from agentm_recall import Draft, RecallIndex, forget_note, phase_recall, save_note
from agentm_recall.index.outlines import MOST, read_outline


class Counting(BackendLayer):
    def __init__(self, inner):
        super().__init__(inner)
        self.reads, self.walks = [], []

    def read(self, locator):
        self.reads.append(locator.key)
        return super().read(locator)

    def walk(self, locator):
        self.walks.append(locator.key)
        return super().walk(locator)


def settled(store):
    """Bring the index up to date when the folders have come to rest: their times then tell of every change."""
    time.sleep(0.15)
    RecallIndex(store).update()


@pytest.fixture
def notes(home, store):
    for number in range(20):
        text = f"---\nupdated: 2025-01-{number + 10}\nstatus: active\n---\n# Note {number}\n" + "words " * 100
        home.note(f"projects/widgets/decisions/n{number:02}.md", text)
    home.note("personal/_always-load/tone.md", "# Tone\n")
    settled(store)
    return Counting(store)


def test_notes_as_large_as_one_that_did_not_fit_are_not_read(notes):
    for budget in range(900, 1100, 20):
        notes.reads.clear()
        text = phase_recall("work", "widgets", backend=notes, budget=budget)

        read = [key for key in notes.reads if key.startswith("projects/widgets/decisions/")]
        assert len(read) <= text.count("projects/widgets/decisions/") + 2  # numbers have one digit or two


def test_a_new_note_at_the_name_of_one_that_was_replaced_and_is_gone_is_recalled(home, store):
    new = "---\ncreated: 2025-01-01\nstatus: active\nsupersedes: [port]\n---\n# Web\nIt is 80.\n"
    home.note("projects/widgets/facts/web.md", new)
    settled(store)
    fresh = "---\ncreated: 2025-02-01\nstatus: active\n---\n# Port\nOf the other gateway.\n"
    home.note("projects/widgets/facts/port.md", fresh)
    assert "Of the other gateway" in phase_recall("work", "widgets", backend=store)
    settled(store)
    assert "projects/widgets/facts/port.md" in {note.key for note in outline(store).notes}
    assert "Of the other gateway" in phase_recall("work", "widgets", backend=store)


def outline(store, project="widgets"):
    return read_outline(RecallIndex(store).path(), project)


def keys(found):
    return {note.key for note in found.notes}


def test_an_outline_has_the_folders_and_the_newest_notes(notes):
    found = outline(notes)

    assert len(found.notes) == 20
    assert found.folders["projects/widgets/decisions"] == notes.info(Locator("projects/widgets/decisions")).version
    assert found.states["projects/widgets/decisions"] == (20, 0, 0)
    assert (found.notes[0].key, found.notes[0].changed) == ("projects/widgets/decisions/n19.md", "2025-01-29")
    assert keys(outline(notes, None)) == {"personal/_always-load/tone.md"}


def test_of_many_notes_the_newest_are_in_it_and_the_others_are_counted(notes, home):
    for number in range(MOST + 30):
        home.note(f"projects/widgets/facts/f{number:03}.md", f"---\nupdated: 2025-02-01T{number:03}\n---\n# Fact\n")
    settled(notes)

    found = [key for key in keys(outline(notes)) if "/facts/" in key]
    assert len(found) == MOST
    assert "projects/widgets/facts/f029.md" not in found

    notes.walks.clear()
    text = phase_recall("review", "widgets", backend=notes, budget=700)
    assert notes.walks == []
    shown = text.count("```note\nprojects") + text.count("```note\npersonal")
    assert f"{MOST + 30 + 21 - shown} for lack of room" in text.splitlines()[-1]


def test_only_the_notes_that_are_shown_are_read(notes):
    text = phase_recall("work", "widgets", backend=notes, budget=700)

    assert notes.walks == []
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

    found = outline(notes)

    assert next(note for note in found.notes if note.key == done.locator.key).supersedes == ("n05",)
    assert "projects/widgets/decisions/n05.md" not in keys(found)
    assert found.states["projects/widgets/decisions"] == (20, 1, 0)


def test_folders_that_came_to_rest_since_are_known_although_no_note_has_changed(notes, home):
    old = time.time() - 60
    for file in (home.root / "projects/widgets/decisions").iterdir():
        os.utime(file, (old, old))  # notes at rest, in a folder that is not
    settled(notes)
    (home.root / "projects/widgets/board.txt").write_text("no note")
    RecallIndex(notes).update()  # at once, on most machines: the folder is too young to have a version

    settled(notes)

    assert outline(notes).folders["projects/widgets"] == notes.info(Locator("projects/widgets")).version


def test_a_project_without_notes_has_no_lines_left(notes, home):
    for file in (home.root / "projects/widgets/decisions").iterdir():
        file.unlink()

    RecallIndex(notes).update()

    assert outline(notes).notes == []


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"something else\na\tb\tc\td\te\n", b"agentm-recall outlines 4\na\tb\n\x00\x00\n"]
)
def test_a_file_that_is_none_says_nothing(notes, home, content):
    next(home.index_file().parent.rglob("project widgets")).write_bytes(content)

    assert outline(notes) is None
    assert "decisions/n19" in phase_recall("work", "widgets", backend=notes, budget=700)


@pytest.mark.parametrize(
    "line", ["shelf\tdecisions\t-1\t0", "shelf\tdecisions\t9\t0", "shelf\tdecisions", "else\tx\ty\tz"]
)
def test_a_file_that_promises_what_it_has_not_says_nothing(notes, home, line):
    file = next(home.index_file().parent.rglob("project widgets"))
    header = file.read_text().split("\n")[0]
    file.write_text("\n".join((header, line, "projects/widgets/decisions/n19.md\t2025\t\t9\t", header)))

    assert outline(notes) is None


def test_a_damaged_line_hides_its_note_and_no_other(notes, home):
    file = next(home.index_file().parent.rglob("project widgets"))
    file.write_text(file.read_text().replace("n19.md\t2025-01-29\t\t", "n19.md\t2025-01-29\t\tx"))

    text = phase_recall("work", "widgets", backend=notes, budget=700)

    assert "decisions/n19" not in text
    assert "decisions/n18" in text


def test_a_note_that_was_changed_inside_its_file_is_shown_as_it_is(notes, home):
    """No folder's time tells of it, so it is chosen by what was known; what is shown is what it says."""
    file = home.root / "projects/widgets/decisions/n19.md"
    file.write_text(file.read_text().replace("words words", "lately changed"))

    text = phase_recall("work", "widgets", backend=notes, budget=2000)

    assert notes.walks == []
    assert "lately changed" in text
