"""Somebody else writes a moment before a note, a proposal or its place is changed: what they wrote is still there."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Capabilities
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    ConflictCopies,
    ConflictCopy,
    Device,
    FileStore,
    Locator,
    LocatorConflictError,
    NotFoundError,
    content_hash,
    stamp_store,
)
from agentm_recall import inbox
from agentm_recall.inbox import APPEND, SAVE, Proposal, accept, pending, propose, reject
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.place import write_beside
from agentm_recall.moving import move_note
from agentm_recall.page import NotesService
from agentm_recall.replacing import replace_text
from agentm_recall.upkeep import _take

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import Absent, StorageBackend

NOTE, PLACE = Locator("projects/widgets/facts/port.md"), Locator("projects/widgets/facts/the-port.md")
MINE, THEIRS = "---\nkind: fact\n---\n\nThe port is 80.\n", "theirs\n"


class Busy(MemoryBackend):
    """Somebody else writes to `theirs` right before the next change of `place`."""

    def __init__(self, *, delete: bool = True) -> None:
        super().__init__()
        self.place: Locator | None = None
        self.theirs = NOTE
        self._capabilities = Capabilities(delete=delete)

    def _interfere(self, locator: Locator) -> None:
        if locator == self.place:
            self.place = None
            super().write(self.theirs, THEIRS)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._interfere(locator)
        return super().write(locator, content, if_match=if_match)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._interfere(locator)
        super().delete(locator, if_match=if_match)


@pytest.fixture
def store() -> Busy:
    made = Busy()
    made.write(NOTE, MINE)
    return made


# ------------------------------------------------------------------------------------------------ notes


def test_a_note_that_is_edited_while_it_moves_stays(store: Busy) -> None:
    store.place, store.theirs = NOTE, NOTE
    with pytest.raises(ConcurrentModificationError):
        move_note(store, NOTE, PLACE, kind="fact", project=None)
    assert store.read(NOTE) == THEIRS


def test_a_note_that_comes_where_another_moves_to_stays(store: Busy) -> None:
    store.place, store.theirs = PLACE, PLACE
    with pytest.raises(ConcurrentModificationError):
        move_note(store, NOTE, PLACE, kind="fact", project=None)
    assert (store.read(PLACE), store.read(NOTE)) == (THEIRS, MINE)


def test_a_move_that_was_cut_off_is_finished_by_the_same_move(store: Busy, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "delete", killed)
        with pytest.raises(KeyboardInterrupt):
            move_note(store, NOTE, PLACE, kind="fact", project=None)
    moved = re.sub(r"updated: .*", "updated: 2026-01-02", store.read(PLACE))
    store.write(PLACE, moved)
    move_note(store, NOTE, PLACE, kind="fact", project=None)
    assert store.read(PLACE) == moved
    assert not store.exists(NOTE)


@pytest.mark.parametrize("note", [NOTE, PLACE])
def test_a_note_does_not_leave_other_versions_behind_or_come_to_those_of_another(note: Locator) -> None:
    class WithCopy(Busy, ConflictCopies):
        def conflict_copies(self, below: Locator) -> list[ConflictCopy]:
            return (
                [ConflictCopy(note, note.parent.child("a copy.md"), "a sync tool", 7, 0.0)] if below == note else []
            )

        def read_copy(self, copy: Locator) -> str:
            return THEIRS

    store = WithCopy()
    store.write(NOTE, MINE)
    with pytest.raises(LocatorConflictError, match="a copy"):
        move_note(store, NOTE, PLACE, kind="fact", project=None)
    assert store.read(NOTE) == MINE
    assert not store.exists(PLACE)


def test_a_note_that_is_edited_while_it_is_replaced_stays(store: Busy) -> None:
    store.place = NOTE
    with pytest.raises(ConcurrentModificationError):
        replace_text(store, NOTE, "The port is 443.\n", content_hash(MINE))
    assert store.read(NOTE) == THEIRS


@pytest.mark.parametrize("expect", [content_hash("what the page showed"), "absent"])
def test_the_page_replaces_only_what_it_showed(tmp_path: Path, expect: str) -> None:
    device = Device({"HOME": str(tmp_path)})
    device.store(read_only=False).write(NOTE, THEIRS)
    with pytest.raises(ConcurrentModificationError):
        NotesService(device).write(NOTE.key, MINE, expect)
    assert device.store().read(NOTE) == THEIRS


# ------------------------------------------------------------------------------------------------ proposals


class Days:
    def get(self, _key: str) -> object:
        return None


def proposed(store: StorageBackend, body: str) -> str:
    return propose(store, Proposal(SAVE, NOTE.key, "fact", body, by="codex"), Days())


def test_two_proposals_of_one_name_are_not_one(store: Busy, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.now(UTC)
    monkeypatch.setattr(
        inbox, "datetime", SimpleNamespace(now=lambda _: moment, fromisoformat=datetime.fromisoformat)
    )
    monkeypatch.setattr("agentm_recall.inbox.os.urandom", bytes)
    proposed(store, "The first.\n")
    with pytest.raises(ConcurrentModificationError):
        proposed(store, "The second.\n")
    assert [one.body for one in pending(store)] == ["The first.\n"]


@pytest.mark.parametrize("can_delete", [True, False])
def test_a_proposal_that_is_edited_while_it_is_settled_stays(can_delete: bool) -> None:
    store = Busy(delete=can_delete)
    name = proposed(store, "Mine.\n")
    [waiting] = pending(store)
    store.place = store.theirs = Locator(f"_inbox/{name}.md")
    with pytest.raises(ConcurrentModificationError):
        reject(store, waiting)
    assert store.read(store.theirs) == THEIRS


def test_a_proposal_that_is_edited_while_it_is_accepted_stays_and_adds_nothing(store: Busy) -> None:
    name = propose(store, Proposal(APPEND, NOTE.key, "fact", "Not 443.\n", by="codex"), Days())
    [waiting] = pending(store)
    store.place = store.theirs = Locator(f"_inbox/{name}.md")
    with pytest.raises(ConcurrentModificationError):
        accept(store, waiting)
    assert (store.read(store.theirs), store.read(NOTE)) == (THEIRS, MINE)


def test_more_text_for_a_note_that_is_gone_is_not_taken(store: Busy) -> None:
    propose(store, Proposal(APPEND, NOTE.key, "fact", "Not 443.\n", by="codex"), Days())
    [waiting] = pending(store)
    store.delete(NOTE)
    with pytest.raises(NotFoundError, match=f"'{NOTE}' is gone") as refused:
        accept(store, waiting)
    assert refused.value.hint == "reject the proposal"
    assert not store.exists(NOTE)
    assert len(pending(store)) == 1


# ------------------------------------------------------------------------------------------------ beside the index


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_the_index_and_what_lies_beside_it_nobody_else_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    store = FileStore(tmp_path / "store", create_root=True)
    stamp_store(store)
    before = os.umask(0)
    try:
        RecallIndex(store).rebuild()
        [index] = (tmp_path / ".cache").rglob("*.sqlite3")
        write_beside(str(index), str(index.with_name("beside")), b"something")
        assert _take(str(index.with_name("lock")))
    finally:
        os.umask(before)
    kept = [path for path in index.parent.iterdir() if path.is_file()]
    assert {"beside", "lock"} < {path.name for path in kept}
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600"}
