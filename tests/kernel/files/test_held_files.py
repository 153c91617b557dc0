"""Programs that hold a note open while agentm replaces it or adds to it: what they write is in the note or listed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.shared_store import NOTE, Shared, kept, leftovers

from agentm_kernel import Locator
from agentm_kernel.files import displaced
from agentm_kernel.files.tree import open_root
from agentm_kernel.plugin import (
    FileStore,
)

if TYPE_CHECKING:
    from pathlib import Path

OTHER = Locator("notes/b.md")
GRACES = (displaced.LEASED_GRACE, displaced.UNLEASED_GRACE)
"""As users have them: every test has another one of the first."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentm" / "appends"


@pytest.fixture
def store(root: Path) -> Shared:
    return Shared(root)


@pytest.fixture
def note(root: Path) -> Path:
    return root / "notes" / "a.md"


@pytest.fixture
def no_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displaced, "_CAN_LEASE", False)


# ------------------------------------------------------------------------------------------------ replacing


def test_lines_that_a_holder_adds_to_a_displaced_version_are_in_the_note(
    store: Shared, root: Path, note: Path
) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "one\ntwo\n")
        holder.write("three\n")
        holder.flush()
        store.write(OTHER, "x")
        assert store.read(NOTE) == "one\ntwo\nthree\n"
        holder.write("four\n")
    store.write(OTHER, "y")
    assert store.read(NOTE) == "one\ntwo\nthree\nfour\n"
    assert kept(root) == leftovers(root) == []


def test_what_a_holder_adds_is_taken_over_by_every_write_however_soon(
    store: Shared, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(displaced, "LEASED_GRACE", 2.0)
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "one\ntwo\n")
        for number, text in enumerate(("three\n", "four\n", "five\n")):
            holder.write(text)
            holder.flush()
            store.write(OTHER, str(number))
            assert store.read(NOTE).endswith(text)


def test_lines_that_a_holder_writes_into_a_note_that_was_empty_are_in_it_whole(store: Shared, note: Path) -> None:
    store.write(NOTE, "")
    with note.open("a") as holder:
        store.write(NOTE, "one\n")
        holder.write("two\n")
    store.write(OTHER, "x")
    assert store.read(NOTE) == "one\ntwo\n"


def test_a_plain_write_of_the_same_note_does_not_take_them_away(store: Shared, note: Path) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "two\n")
        holder.write("held\n")
    store.write(NOTE, "three\n")
    assert store.read(NOTE) == "three\nheld\n"


def test_half_a_line_waits_for_its_rest(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "two\n")
        holder.write("whole\nha")
        holder.flush()
        store.write(OTHER, "x")
        assert store.read(NOTE) == "two\nwhole\n"
        holder.write("lf\n")
    store.write(OTHER, "y")
    assert store.read(NOTE) == "two\nwhole\nhalf\n"
    assert leftovers(root) == []


def test_half_a_line_whose_writer_is_gone_is_not_glued_to_the_next(store: Shared, note: Path) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "two")
        holder.write("half")
    store.write(OTHER, "x")
    store.append(NOTE, "next\n")
    assert store.read(NOTE) == "two\nhalf\nnext\n"


def test_what_was_added_to_half_a_line_is_kept_as_a_version(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "no end")
    with note.open("a") as holder:
        store.write(NOTE, "ours\n")
        holder.write(" of line\n")
    store.write(OTHER, "x")
    assert store.read(NOTE) == "ours\n"
    assert kept(root) == ["no end of line\n"]
    assert leftovers(root) == []


def test_lines_that_the_note_has_no_room_for_are_kept_as_a_version(root: Path, note: Path) -> None:
    store = Shared(root, size_limit=20)
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "two of twenty bytes\n")
        holder.write("three\n")
    store.write(OTHER, "x")
    assert store.read(NOTE) == "two of twenty bytes\n"
    assert kept(root) == ["one\nthree\n"]
    assert leftovers(root) == []


def test_what_was_written_over_is_kept_and_its_writer_goes_on_there(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\ntwo\n")
    with note.open("r+") as holder:
        store.write(NOTE, "ours\n")
        holder.write("1")
        holder.flush()
        store.write(OTHER, "x")
        holder.write("NE")
    assert kept(root) == ["1NE\ntwo\n"]
    assert store.read(NOTE) == "ours\n"


@pytest.mark.parametrize("can_lease", [True, False])
def test_a_program_that_empties_a_displaced_version_and_writes_later_loses_nothing(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch, can_lease: bool
) -> None:
    if not can_lease:
        monkeypatch.setattr(displaced, "_CAN_LEASE", False)
    store.write(NOTE, "one\n")
    with note.open("r+") as holder:
        store.write(NOTE, "ours\n")
        holder.truncate()
        store.write(OTHER, "x")
        holder.write("theirs\n")
    store.write(OTHER, "y")
    assert kept(root) == ["theirs\n"]


def test_what_a_holder_of_a_deleted_note_writes_is_kept(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.delete(NOTE)
        holder.write("two\n")
    store.write(OTHER, "x")
    assert not store.exists(NOTE)
    assert kept(root) == ["one\ntwo\n"]


def test_another_process_finds_them(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    with note.open("a") as holder:
        store.write(NOTE, "two\n")
        holder.write("three\n")
    FileStore(root).write(OTHER, "x")
    assert store.read(NOTE) == "two\nthree\n"
    assert leftovers(root) == []


def test_how_long_a_displaced_version_stays() -> None:
    assert GRACES == (2.0, 60.0)


def test_a_displaced_version_stays_two_seconds(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that was about to open the note has the displaced one open a moment later."""
    monkeypatch.setattr(displaced, "LEASED_GRACE", 2.0)
    store.write(NOTE, "one\n")
    store.write(NOTE, "two\n")
    (swap,) = leftovers(root)
    FileStore(root).write(OTHER, "x")
    assert leftovers(root) == [swap]
    with (note.parent / swap).open("a") as late:
        late.write("late\n")
    time.sleep(2.1)
    store.write(OTHER, "y")
    assert store.read(NOTE) == "two\nlate\n"
    time.sleep(2.1)
    FileStore(root).write(OTHER, "z")
    assert len(leftovers(root)) == 1, "what displaced `y`"


def test_without_leases_a_displaced_version_stays_for_a_minute_of_silence(
    store: Shared, root: Path, note: Path, no_leases: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    holder = note.open("a")
    store.write(NOTE, "two\n")
    holder.write("three\n")
    holder.close()
    store.write(OTHER, "x")
    assert store.read(NOTE) == "two\nthree\n"
    assert len(leftovers(root)) == 1
    monkeypatch.setattr(displaced, "UNLEASED_GRACE", 0.0)
    FileStore(root).write(Locator("notes/c.md"), "y")
    assert store.read(NOTE) == "two\nthree\n"
    assert leftovers(root) == []


def test_without_leases_an_empty_one_goes_after_a_minute_of_silence(
    store: Shared, root: Path, note: Path, no_leases: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    with note.open("r+") as holder:
        store.write(NOTE, "two\n")
        holder.truncate()
    store.write(OTHER, "x")
    assert len(leftovers(root)) == 1
    monkeypatch.setattr(displaced, "UNLEASED_GRACE", 0.0)
    store.write(Locator("notes/c.md"), "y")
    assert (kept(root), leftovers(root)) == ([], [])


def test_the_end_of_a_lease_does_not_end_the_process(root: Path) -> None:
    """Who opens the file breaks the lease, and the system signals us: with SIGIO we would be gone."""
    code = """
import os, sys, threading, time
from agentm_kernel.files.displaced import Lease
from agentm_kernel.files.tree import open_root
path = os.path.join(sys.argv[1], "a")
open(path, "w").close()
with Lease(open_root(sys.argv[1]), "a") as lease:
    assert lease.is_unwritten is True
    opener = threading.Thread(target=lambda: open(path, "a").close())
    opener.start()
    time.sleep(0.2)
opener.join()
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done


@pytest.mark.skipif(not displaced._CAN_LEASE, reason="needs leases")
def test_how_a_lease_ends_is_said_before_it_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    (root / "a").touch()
    call = displaced.fcntl.fcntl
    monkeypatch.setattr(displaced.fcntl, "fcntl", lambda *given: (asked.append(given[1]), call(*given)))
    with open_root(str(root)) as directory, displaced.Lease(directory, "a"):
        pass
    assert asked == [displaced.fcntl.F_SETSIG, displaced.fcntl.F_SETLEASE, displaced.fcntl.F_SETLEASE]


@pytest.mark.skipif(not displaced._CAN_LEASE, reason="needs leases")
def test_a_lease_that_fails_says_so_and_holds_no_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes to the file meanwhile makes it ask whether that is worth believing, which takes a file more."""
    with (root / "a").open("w"), open_root(str(root)) as directory:
        monkeypatch.setattr(displaced, "_gives_leases", {})
        monkeypatch.setattr(directory, "create_file", full)
        before = os.listdir("/proc/self/fd")
        with pytest.raises(OSError, match="No space"):
            displaced.Lease(directory, "a")
        assert os.listdir("/proc/self/fd") == before


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
