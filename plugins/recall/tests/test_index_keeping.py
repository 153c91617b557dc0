"""Keeping the index: sealed where the store is, only as much at a time as nobody notices, and said where it fails."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import AgentmError, Device, InvalidContentError, Locator, StorageError
from agentm_recall import RecallIndex, in_conflict, inbox, phase_recall, scopes
from agentm_recall.commands import inbox as inbox_command
from agentm_recall.gathering import _age_of
from agentm_recall.in_conflict import line_about
from agentm_recall.inbox import SAVE, Proposal, pending, propose
from agentm_recall.index import maintenance
from agentm_recall.index.database import Database, IndexUnavailable
from agentm_recall.index.sealed_place import SealedPlace
from agentm_recall.note import title_of
from agentm_recall.scopes import own_store

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Home, Terminal

    from agentm_kernel.plugin import StorageBackend

PORT = "projects/widgets/facts/port.md"


class Seal:
    """Turns every byte around."""

    def seal_derived(self, data: bytes) -> bytes:
        return bytes(255 - byte for byte in data)

    open_derived = seal_derived


@pytest.fixture
def sealed(home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch) -> RecallIndex:
    """The index of a store that is taken for encrypted."""
    place = SealedPlace.of(str(home.index_file().with_name("notes-3.sealed")), Seal())  # type: ignore[arg-type]
    monkeypatch.setattr("agentm_recall.index.reading.index_path", lambda *_: place)
    home.note(PORT, "Herons go to 443.\n")
    return RecallIndex(store)


def count(index: RecallIndex) -> int:
    with Database.open(index.path(), read_only=True) as database:
        return database.count()


def test_the_index_of_an_encrypted_store_is_built_updated_and_built_again(home: Home, sealed: RecallIndex) -> None:
    assert sealed.update().indexed == 1
    kept = [data for name, (_, data) in home.files().items() if name.startswith(".cache/")]
    assert kept
    assert not any(b"Herons" in data for data in kept)
    home.note("projects/widgets/facts/more.md", "Cranes go to 80.\n")
    assert (sealed.update().indexed, count(sealed)) == (1, 2)
    with open(sealed.path(), "wb") as file:
        file.write(b"damaged")
    assert (sealed.update().indexed, count(sealed)) == (2, 2)
    assert sealed.rebuild().indexed == 2


def test_one_note_is_sealed_at_once_unless_all_of_it_is_large(
    home: Home, sealed: RecallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed.update()
    for number, (limit, known) in enumerate(((10_000_000, 2), (10, 2))):
        monkeypatch.setattr(maintenance, "_LARGE_IMAGE", limit)
        key = f"projects/widgets/facts/more-{number}.md"
        home.note(key, "Cranes go to 80.\n")
        sealed.note_written([Locator(key)])
        assert count(sealed) == known


def test_a_folder_that_takes_no_sealed_index_is_said(sealed: RecallIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_folder: str) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(maintenance, "make_private_folder", refused)
    with pytest.raises(IndexUnavailable, match="it cannot be written: Permission denied"):
        sealed.rebuild()


# ------------------------------------------------------------------------------------------------ how much at a time


@pytest.mark.parametrize(("count", "is_built"), [(3, True), (4, False)])
def test_a_large_index_that_is_not_there_is_not_built_by_one_who_cannot_wait(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch, count: int, is_built: bool
) -> None:
    monkeypatch.setattr(maintenance, "_BUILT_AT_ONCE", 3)
    for number in range(count):
        home.note(f"projects/widgets/facts/n{number}.md", "Text.\n")
    changes = RecallIndex(store).keep_warm()
    assert (changes is not None and changes.indexed == count) is is_built
    assert home.index_file().exists() is is_built


@pytest.mark.parametrize(("most", "is_kept"), [(2, True), (1, False)])
def test_a_large_index_is_not_listed_by_one_who_cannot_wait(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch, most: int, is_kept: bool
) -> None:
    for number in range(2):
        home.note(f"projects/widgets/facts/n{number}.md", "Text.\n")
    index = RecallIndex(store)
    index.update()
    monkeypatch.setattr(maintenance, "LISTED_AT_ONCE", most)
    assert (index.keep_warm() is not None) is is_kept
    home.index_file().write_bytes(b"damaged" * 1000)
    assert index.keep_warm() is not None, "one that is damaged is built again"


def test_what_was_written_before_there_is_an_index_makes_one(home: Home, store: StorageBackend) -> None:
    home.note(PORT, "Herons go to 443.\n")
    RecallIndex(store).note_written([Locator(PORT)])
    assert count(RecallIndex(store)) == 1


def test_a_note_that_cannot_be_indexed_is_no_obstacle(home: Home, store: StorageBackend) -> None:
    home.note(PORT, "Herons go to 443.\n")
    index = RecallIndex(store)
    index.update()
    index.note_written([Locator("projects/widgets/facts/none.md")])
    assert count(index) == 1
    assert index.note_changes(["projects/widgets/facts/none.md"]) is False
    home.index_file().unlink()
    assert index.note_changes([PORT]) is False


def test_a_note_that_has_changed_is_indexed_when_it_is_looked_at(home: Home, store: StorageBackend) -> None:
    home.note(PORT, "Herons go to 443.\n")
    index = RecallIndex(store)
    index.update()
    assert index.note_changes([PORT]) is False
    (home.root / PORT).write_text("Cranes go to 80.\n")
    assert index.note_changes([PORT]) is True
    (home.root / PORT).unlink()
    assert index.note_changes([PORT]) is True
    assert count(index) == 0


def test_half_built_indexes_of_the_last_hour_are_somebody_s(home: Home, store: StorageBackend) -> None:
    index = RecallIndex(store)
    index.update()
    folder = home.index_file().parent
    for name, age in (("a.new", 3700), ("b.new", 3500), ("c.old", 9999)):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (time.time() - age,) * 2)
    index.rebuild()
    left = {path.name for path in folder.iterdir() if path.is_file()}
    assert left >= {"b.new", "c.old"}
    assert "a.new" not in left


def test_a_build_that_fails_leaves_nothing_and_says_whose_trouble_it_is(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageError("the store is on fire")

    index = RecallIndex(store)
    monkeypatch.setattr(maintenance, "find_difference", fail)
    with pytest.raises(StorageError, match="on fire"):
        index.rebuild()
    assert [path.name for path in home.index_file().parent.iterdir()] == []


# ------------------------------------------------------------------------------------------------ a store elsewhere


def test_a_list_of_a_store_elsewhere_brings_its_index_up_to_date_first(
    home: Home, store: StorageBackend, agentm: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.note(PORT, "Herons go to 443.\n")
    agentm("notes", "list")
    assert not home.index_file().exists()
    monkeypatch.setattr("agentm_recall.commands.notes.is_elsewhere", lambda _: True)
    agentm("notes", "list")
    assert home.index_file().exists()

    def fail(*_: object) -> None:
        raise IndexUnavailable("it is damaged")

    monkeypatch.setattr(RecallIndex, "update", fail)
    agentm("notes", "list", code=1)
    assert "cannot be listed: their index on this device cannot be used: it is damaged" in agentm.err
    assert "hint: run `agentm reindex`" in agentm.err


@pytest.mark.parametrize(
    ("age", "said"),
    [(-50, "0 min"), (301, "5 min"), (7190, "120 min"), (7210, "2 h"), (36_100, "10 h"), (360_100, "100 h")],
)
def test_the_age_of_an_index_is_said_in_minutes_or_hours(tmp_path: Path, age: float, said: str) -> None:
    file = tmp_path / "index"
    file.write_text("")
    os.utime(file, (time.time() - age,) * 2)
    assert _age_of(str(file)) == said


# ------------------------------------------------------------------------------------------------ conflicts


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "One note waits to be settled, because a sync tool left only conflict copies: a0"),
        (3, "3 notes wait to be settled, because a sync tool left only conflict copies: a0, a1, a2"),
        (5, "5 notes wait to be settled, because a sync tool left only conflict copies: a0, a1, a2 and 2 more"),
    ],
)
def test_notes_in_conflict_are_counted_and_three_are_named(count: int, said: str) -> None:
    assert line_about([Locator(f"a{number}.md") for number in range(count)]) == said


def test_where_there_is_nothing_else_an_agent_is_told_of_notes_in_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_conflict, "notes_in_conflict", lambda *_: [Locator("projects/p/facts/a.md")])
    memory = MemoryBackend()
    said = phase_recall("work", "p", backend=memory, environ={})
    assert said.startswith("[agentm] One note waits to be settled")
    assert said.endswith("projects/p/facts/a. Ask the operator; `agentm doctor` says how.\n")
    memory.write(Locator("projects/p/facts/b.md"), "Text.\n")
    assert "[agentm]" not in phase_recall("work", "p", backend=memory, environ={})


# ------------------------------------------------------------------------------------------------ settling proposals


class Days:
    def get(self, _key: str) -> None:
        return None


def test_proposals_are_settled_one_by_one_after_asking(
    home: Home, store: StorageBackend, agentm: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(inbox_command, "ask_operator", lambda words, question: asked.append((words, question)))
    names = [
        propose(store, Proposal(SAVE, f"projects/widgets/facts/{slug}.md", "fact", f"The {slug}.\n"), Days())
        for slug in ("heron", "crane", "stork")
    ]
    agentm("search", "anything")
    assert agentm("inbox", "accept", names[0], "crane") == (
        "accepted projects/widgets/facts/heron.md\naccepted projects/widgets/facts/crane.md\n"
    )
    assert [question for _, question in asked] == ["Accept this?"] * 2
    assert asked[0][0].endswith("The heron.")
    with Database.open(str(home.index_file()), read_only=True) as database:
        assert database.count() == 2, "they are found at once"
    assert agentm("inbox", "reject", "stork") == f"rejected {names[2]}\n"
    assert asked[2][1] == "Reject this?"
    assert pending(store) == []


def test_a_command_that_does_not_agree_keeps_a_proposal_where_it_is(
    home: Home, store: StorageBackend, agentm: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_command, "ask_operator", lambda *_: None)
    propose(store, Proposal(SAVE, PORT, "fact", "The port.\n"), Days())
    agentm("config", "set", "inbox.confirm", "false")
    agentm("inbox", "accept", "port", code=1)
    assert "inbox.confirm did not agree (exit code 1)" in agentm.err
    assert len(pending(store)) == 1


def test_a_full_inbox_says_who_empties_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "_MOST", 1)
    memory = MemoryBackend()
    propose(memory, Proposal(SAVE, PORT, "fact", "The port.\n"), Days())
    with pytest.raises(InvalidContentError, match="1 proposals wait already") as refused:
        propose(memory, Proposal(SAVE, PORT, "fact", "Another.\n"), Days())
    assert "`agentm inbox list`" in str(refused.value.hint)


# ------------------------------------------------------------------------------------------------ what is personal


def test_what_is_personal_is_not_saved_where_a_team_reads_it_unless_the_operator_says_so(
    home: Home, store: StorageBackend, agentm: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "_is_shared", lambda _: True)
    agentm("config", "set", "plugins.device-local.root", str(home.path / "my notes"))
    (home.path / "my notes").mkdir()
    with pytest.raises(AgentmError, match="would read a personal note, and this device has no other") as refused:
        own_store(Device.now())
    hint = str(refused.value.hint)
    assert f"`agentm store add team device-local 'root={home.path}/my notes'`" in hint
    assert hint.endswith("run `agentm config set plugins.recall.share_personal true`")
    agentm("config", "set", "plugins.recall.share_personal", "true")
    assert own_store(Device.now()).describe() == str(home.path / "my notes")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("\n" * 29 + "# Late\n", "Late"),
        ("\n" * 30 + "# Too late\n", ""),
        ("x " * 990 + "\n# In time\n", "In time"),
        ("x " * 1000 + "\n# Too late\n", ("x " * 60)),
        ("First.\n#tag\n##  Heading \n", "Heading"),
        ("y" * 130, "y" * 120),
        ("# " + "y" * 130, "y" * 120),
    ],
)
def test_a_title_is_the_first_heading_of_the_first_lines(body: str, title: str) -> None:
    assert title_of(body) == title
