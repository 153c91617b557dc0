"""Names and places that other programs give notes: whoever looks for such a note is told what became of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import Device, HookContext, Locator
from agentm_recall import out_of_reach
from agentm_recall.doctor import agentm_doctor_checks
from agentm_recall.out_of_reach import notes_nowhere, unnamed_notes
from agentm_recall.provider import why

if TYPE_CHECKING:
    from conftest import Home

    from agentm_kernel.plugin import DoctorRow, StorageBackend

HERE = "projects/widgets/decisions"


@pytest.fixture
def store(home: Home) -> StorageBackend:
    """The one that this device selects by itself."""
    home.stamp()
    return Device.now({"HOME": str(home.path)}).store(read_only=True)


def rows(home: Home, store: StorageBackend) -> list[DoctorRow]:
    context = HookContext(Device.now({"HOME": str(home.path)}), str(home.project), store=store)
    return [row for row in agentm_doctor_checks(context) or () if row.check == "notes"]


def test_a_note_that_was_renamed_to_what_no_key_can_spell_is_named(home: Home, store: StorageBackend) -> None:
    for name in ("Why Postgres?.md", "cafe\u0301.md", "Q: and A/inner.md", "plain.md"):
        home.note(f"{HERE}/{name}", "Use Postgres.\n")
    home.note(f"{HERE}/Screenshot 10:30.png", b"png")
    unnamed = [f"{HERE}/{name}" for name in ("Q: and A", "Why Postgres?.md", "cafe\u0301.md")]

    assert list(unnamed_notes(store, [Locator(HERE)])) == unnamed
    listed = home.run("notes", "list")
    assert f"{HERE}/Why Postgres?.md: is no note, because of its name" in listed.stderr
    assert sorted(json.loads(home.run("notes", "list", "--json").stdout)["problems"]) == unnamed
    (row,) = rows(home, store)
    assert (row.status, row.message.startswith(f"3 that nobody is given: {unnamed[0]} is no note")) == ("warn", True)


@pytest.mark.parametrize("key", ["Ideas/Deep/loose.md", "loose.md", "projects/loose.md"])
def test_a_note_that_was_moved_out_of_every_project_is_named(home: Home, store: StorageBackend, key: str) -> None:
    home.note(f"{HERE}/plain.md", "Use Postgres.\n")
    home.note("personal/mine.md", "Mine.\n")
    home.note(key, "Use Postgres, really.\n")

    assert list(notes_nowhere(store)) == [key]
    (row,) = rows(home, store)
    assert (row.status, key in row.message) == ("ok", True)
    here = Device.now({"HOME": str(home.path)}).memory(str(home.project))
    said = why(here, note="loose", phase="work", query=None, limit=None)
    assert "it lies in no project and not in personal/" in said
    shown = home.run("notes", "show", key)
    assert shown.returncode == 1
    assert f"there is '{key}'" in shown.stderr
    assert "move its file into personal/" in shown.stderr


def test_a_note_of_another_project_is_found_by_what_the_refusal_says(home: Home, store: StorageBackend) -> None:
    home.note(f"{HERE}/plain.md", "Use Postgres.\n")
    home.note("projects/other/facts/theirs.md", "Theirs.\n")

    said = home.run("notes", "show", "theirs").stderr
    assert "name its project too: other (on the command line, `--project other`)" in said  # tools have no option
    assert home.run("notes", "show", "theirs", "--project", "other").stdout == "Theirs.\n"
    assert rows(home, store) == []


@pytest.mark.parametrize("command", ["history", "undo"])
def test_what_was_kept_of_a_note_that_another_program_deleted_is_had_by_the_hint(home: Home, command: str) -> None:
    file = home.note(f"{HERE}/db.md", "Use Postgres.\n")
    home.run("save", "--kind", "decision", "--slug", "db", "--update", "Use Postgres 16.")
    file.unlink()

    refused = home.run("notes", command, "db")

    assert refused.returncode == 1
    assert f"`agentm checkpoint {command} db`" in refused.stderr
    assert home.run("checkpoint", command, "db").returncode == 0
    assert file.exists() == (command == "undo")


def test_notes_in_their_place_are_not_walked_to_find_those_that_are_not(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`agentm doctor` has two seconds for a store of any size."""
    home.note(f"{HERE}/plain.md", "Use Postgres.\n")
    home.note("Ideas/loose.md", "Use Postgres, really.\n")
    walked = []
    monkeypatch.setattr(out_of_reach, "note_files", lambda _, place: walked.append(place.key) or ())
    list(notes_nowhere(store))
    assert sorted(walked) == ["Ideas", "_meta"]
