"""Every state that a power cut may leave in an append, and every byte at which it may be killed: absent or whole."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.faults.crash_model import crash_states
from tests.faults.crash_states import _build_tree
from tests.faults.recorder import Recorder
from tests.faults.syscalls import Tap

from agentm_kernel import Locator
from agentm_kernel.files import appending
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import FileStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.faults.crash_model import Event

NOTE, OTHER = Locator("a.md"), Locator("b.md")
BEFORE, ADDED = "one\n", "two, a longer line\n"
AFTER = BEFORE + ADDED


@pytest.fixture(autouse=True)
def same_inodes() -> Iterator[None]:
    """A tree that is built again has other inodes; a disk keeps them."""
    with (
        mock.patch.object(appending, "identity_of", return_value=(0, 0)),
        mock.patch.object(Directory, "lasting_number", return_value="the store"),
    ):
        yield


def _open(base: str, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    monkeypatch.setenv("XDG_STATE_HOME", os.path.join(base, "state"))
    return FileStore(os.path.join(base, "store"))


def _record(
    base: Path, monkeypatch: pytest.MonkeyPatch, build: AbstractContextManager[object]
) -> tuple[list[Event], int]:
    """The events of an append, and where it begins. The one before made the folder of the records."""
    (base / "store").mkdir(parents=True)
    store = _open(str(base), monkeypatch)
    store.write(NOTE, "")
    store.append(NOTE, BEFORE)
    fresh = _open(str(base), monkeypatch)
    recorder = Recorder(str(base))
    start = len(recorder.events)
    with Tap(recorder), build:
        fresh.append(NOTE, ADDED)
    return recorder.events, start


def _found(folder: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    found = set()
    for tree in crash_states(events):
        # The model takes a file for one piece. Adding to it does not touch what was synced before, on any disk.
        if not (dict(tree)[os.path.join("store", "a.md")] or b"").startswith(BEFORE.encode()):
            continue
        base = _build_tree(str(folder), tree)
        store = _open(base, monkeypatch)
        store.append(OTHER, "next\n")
        found.add(store.read(NOTE))
    return found


def test_an_append_that_the_power_cuts_is_absent_or_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, start = _record(tmp_path / "record", monkeypatch, nullcontext())
    assert len(events) > start
    for moment in range(start, len(events) + 1):
        found = _found(tmp_path / "state", events[:moment], monkeypatch)
        assert found <= {BEFORE, AFTER}, f"after {events[start:moment]}"
    assert found == {AFTER}, "it was acknowledged"


def test_without_its_record_it_would_be_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    forgetful = mock.patch.object(appending.AppendRecords, "write", return_value=None)
    events, start = _record(tmp_path / "record", monkeypatch, forgetful)
    found = set()
    for moment in range(start, len(events) + 1):
        found |= _found(tmp_path / "state", events[:moment], monkeypatch)
    assert not found <= {BEFORE, AFTER}


def test_records_of_neighbours_are_joined_up_to_a_page() -> None:
    def record(offset: int, size: int, key: str = "note.md", inode: int = 1) -> appending.Record:
        return appending.Record(key, inode, offset, 0.0, b"x" * size)

    joined = record(7 + 4000, 96).joined_to(record(7, 4000))
    assert joined is not None
    assert (joined.offset, len(joined.data)) == (7, 4096)
    assert record(7 + 4000, 97).joined_to(record(7, 4000)) is None, "too long"
    assert record(7 + 4001, 96).joined_to(record(7, 4000)) is None, "not right behind it"
    assert record(4007, 96, key="other.md").joined_to(record(7, 4000)) is None
    assert record(4007, 96, inode=2).joined_to(record(7, 4000)) is None
