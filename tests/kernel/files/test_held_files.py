"""Programs that hold a note open while agentm replaces it or adds to it: what they write is in the note or listed."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.shared_store import NOTE, Shared, kept, leftovers

from agentm_kernel import Locator, update
from agentm_kernel.files import appending, displaced
from agentm_kernel.files.tree import Directory, identity_of, open_root
from agentm_kernel.plugin import (
    ABSENT,
    Appends,
    FileStore,
    InvalidContentError,
    LocatorConflictError,
    content_hash,
)
from agentm_kernel.seam.update import append

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


def test_a_program_that_empties_a_displaced_version_and_writes_later_loses_nothing(
    store: Shared, root: Path, note: Path
) -> None:
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


# ------------------------------------------------------------------------------------------------ appending


def test_an_append_is_in_place(store: Shared, note: Path) -> None:
    store.append(NOTE, "one\n")
    inode = note.stat().st_ino
    with note.open("a") as holder:
        store.append(NOTE, "two\n")
        holder.write("three\n")
    store.append(NOTE, "four\n")
    assert store.read(NOTE) == "one\ntwo\nthree\nfour\n"
    assert note.stat().st_ino == inode


def test_an_append_is_on_a_line_of_its_own(store: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "_SETTLING", 0.0)
    store.write(NOTE, "one")
    store.append(NOTE, "two")
    store.append(NOTE, "three\n")
    assert store.read(NOTE) == "one\ntwo\nthree\n"


def test_the_same_where_a_store_cannot_append(root: Path) -> None:
    class Ruled(Shared):
        def write(self, locator: Locator, content: str, *, if_match: object = None) -> Locator:
            assert "secret" not in content
            return super().write(locator, content, if_match=if_match)  # type: ignore[arg-type]

    store = Ruled(root)
    assert store.facet(Appends) is None, "its rule for writes would not be asked"
    append(store, NOTE, "one")
    append(store, NOTE, "two\n")
    assert store.read(NOTE) == "one\ntwo\n"
    with pytest.raises(AssertionError):
        append(store, NOTE, "secret")


def test_an_append_that_makes_the_note_too_large_is_refused(root: Path, state: Path) -> None:
    store = FileStore(root, size_limit=10)
    store.append(NOTE, "12345\n")
    with pytest.raises(InvalidContentError, match="limit"):
        store.append(NOTE, "67890\n")
    assert store.read(NOTE) == "12345\n"
    (record,) = state.iterdir()
    assert b"67890" not in record.read_bytes()


def test_an_append_to_a_folder_or_through_a_link_is_refused(store: Shared, root: Path) -> None:
    store.mkdir(NOTE)
    with pytest.raises(LocatorConflictError):
        store.append(NOTE, "x")
    (root / "notes" / "b.md").symlink_to(root / "elsewhere")
    with pytest.raises(LocatorConflictError):
        store.append(OTHER, "x")
    assert not (root / "elsewhere").exists()


@pytest.mark.parametrize("cut", range(len("two\nthree\n") + 1))
@pytest.mark.parametrize("zeros", [False, True], ids=["short", "zeros"])
def test_an_append_that_was_cut_short_is_completed(
    store: Shared, root: Path, note: Path, cut: int, zeros: bool
) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\nthree\n")
    whole = note.read_bytes()
    note.write_bytes(whole[: 4 + cut] + (b"\0" * (len(whole) - 4 - cut) if zeros else b""))
    FileStore(root).append(NOTE, "four\n")
    assert store.read(NOTE) == "one\ntwo\nthree\nfour\n"


def test_what_was_completed_is_durable(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    note.write_bytes(b"one\n")
    synced, real = list[bytes](), os.fsync

    def sync(file: int) -> None:
        if os.path.samestat(os.fstat(file), note.stat()):
            synced.append(note.read_bytes())
        real(file)

    monkeypatch.setattr(os, "fsync", sync)
    FileStore(root).append(NOTE, "three\n")
    assert synced == [b"one\ntwo\n", b"one\ntwo\nthree\n"]


def test_a_note_that_an_append_makes_has_a_durable_name(
    store: Shared, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    synced, folder = list[object](), identity_of(note.parent.stat())
    monkeypatch.setattr(Directory, "sync", lambda self: synced.append(self.identity))
    store.append(NOTE, "two\n")
    assert folder not in synced, "it has its name already"
    store.append(OTHER, "two\n")
    assert folder in synced


def test_it_is_completed_where_the_disk_has_another_number_after_the_power_cut(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of devices are given when a disk is mounted."""
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    note.write_text("one\nt")
    real = appending.identity_of
    monkeypatch.setattr(appending, "identity_of", lambda status: (real(status)[0] + 1, real(status)[1]))
    FileStore(root).append(NOTE, "three\n")
    assert store.read(NOTE) == "one\ntwo\nthree\n"


def test_an_append_that_another_program_wrote_over_is_kept(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    note.write_text("another text, longer than it was before\n")
    store.append(NOTE, "next\n")
    assert kept(root) == ["ours\n"]
    assert store.read(NOTE) == "another text, longer than it was before\nnext\n"


def test_of_several_appends_that_an_editor_saves_over_each_is_kept(store: Shared, root: Path, note: Path) -> None:
    """It had read the note before them, and renames its version over it."""
    store.write(NOTE, "one\n")
    for line in ("two\n", "three\n", "four\n"):
        store.append(NOTE, line)
    (note.parent / "saved").write_text("one\nedited\n")
    (note.parent / "saved").rename(note)
    store.append(NOTE, "five\n")
    assert store.read(NOTE) == "one\nedited\nfive\n"
    assert kept(root) == ["two\nthree\nfour\n"]


def test_an_append_that_comes_within_the_same_millisecond_costs_none_before_it(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are recorded to the millisecond: rounded up, the one before seems to be of a time that has not come."""
    moment = math.floor(time.time()) + 0.0006
    monkeypatch.setattr(appending.time, "time", lambda: moment)
    store.write(NOTE, "one\n")
    for line in ("two\n", "three\n", "four\n"):
        store.append(NOTE, line)
    note.write_text("one\nedited\n")
    store.append(NOTE, "five\n")
    assert kept(root) == ["two\nthree\nfour\n"]


@pytest.mark.parametrize("beside", ["nobody", "a shell"])
def test_an_editor_that_was_slow_to_save_costs_none_of_a_hundred_appends(
    store: Shared, root: Path, note: Path, beside: str
) -> None:
    """It has read the note before all of them. A second is nothing to a machine that has much to do."""
    store.write(NOTE, "one\n")
    read = note.read_text()
    lines = [f"- {number}\n" for number in range(100)]
    for line in lines:
        store.append(NOTE, line)
        if beside == "a shell":
            with note.open("a") as shell:
                shell.write("theirs\n")
    note.write_text(f"{read}edited\n")
    store.append(NOTE, "last\n")
    assert note.read_text() == f"{read}edited\nlast\n"
    found = "".join(kept(root)).splitlines(keepends=True)
    assert [line for line in lines if line not in found] == []


def test_an_append_that_made_the_note_is_kept_when_an_editor_saves_over_it(
    store: Shared, root: Path, note: Path
) -> None:
    """vim moves the file away, and then writes the new one under its name."""
    store.write(NOTE, "one\n")
    note.rename(note.with_suffix(".md~"))
    store.append(NOTE, "ours\n")
    note.write_text("edited\n")
    store.append(NOTE, "last\n")
    assert (note.read_text(), kept(root)) == ("edited\nlast\n", ["ours\n"])


def test_a_note_that_an_append_made_and_somebody_deleted_stays_away(store: Shared, root: Path, note: Path) -> None:
    store.mkdir(NOTE.parent)
    store.append(NOTE, "ours\n")
    note.unlink()
    store.append(NOTE, "new\n")
    assert (note.read_text(), kept(root)) == ("new\n", [])


def test_a_line_that_somebody_removes_later_stays_away(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appending, "_EDITED_LATER", -1.0)
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    note.write_text("a quite different note\n")
    store.append(NOTE, "next\n")
    assert store.read(NOTE) == "a quite different note\nnext\n"
    assert kept(root) == []


def test_a_line_that_an_editor_took_over_is_found(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    (note.parent / "saved").write_text("moved\none\nours\nmore\n")
    (note.parent / "saved").rename(note)
    store.write(NOTE, store.read(NOTE) + "x\n")
    assert kept(root) == []


def test_a_write_looks_for_the_append_before_it_replaces_the_note(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    note.write_text("written over, and more\n")
    store.write(NOTE, "new\n")
    assert kept(root) == ["ours\n"]
    store.append(NOTE, "next\n")
    assert kept(root) == ["ours\n"]


def test_a_deletion_looks_for_the_append_before_it_takes_the_note_away(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    note.write_text("written over, and more\n")
    store.delete(NOTE)
    assert kept(root) == ["ours\n"]


def test_an_append_to_another_note_settles_the_one_before(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    note.write_text("one\nt")
    store.append(OTHER, "x\n")
    assert store.read(NOTE) == "one\ntwo\n"


def test_after_two_seconds_any_write_looks_for_the_append(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    note.write_text("saved over by an editor\n")
    FileStore(root).write(OTHER, "x")
    assert kept(root) == [], "it may still be at work"
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 2.0)
    FileStore(root).write(OTHER, "y")
    FileStore(root).write(OTHER, "z")
    assert kept(root) == ["ours\n"]
    assert store.read(NOTE) == "saved over by an editor\n"


def test_a_damaged_record_is_none(store: Shared, note: Path, state: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    (record,) = state.iterdir()
    record.write_bytes(record.read_bytes()[:-1])
    note.write_text("one\n")
    FileStore(store.root).append(NOTE, "three\n")
    assert store.read(NOTE) == "one\nthree\n"


def test_where_no_record_can_be_kept_an_append_replaces(store: Shared, note: Path, state: Path) -> None:
    """Codex' sandbox leaves only the checkout to write to."""
    state.parent.parent.mkdir()
    state.parent.write_text("in the way")
    store.write(NOTE, "one\n")
    inode = note.stat().st_ino
    store.append(NOTE, "two\n")
    assert store.read(NOTE) == "one\ntwo\n"
    assert note.stat().st_ino != inode


@pytest.mark.parametrize("adds", ["append", "update"])
def test_a_file_that_has_just_been_emptied_is_not_believed(store: Shared, note: Path, adds: str) -> None:
    """An editor empties the file and writes it: what we add in between must not become the whole note."""
    plan = "a plan\n" * 2000
    store.write(NOTE, plan)

    def save() -> None:
        time.sleep(0.1)
        note.write_text(plan + "edited\n")

    note.write_text("")
    editor = threading.Thread(target=save)
    editor.start()
    if adds == "append":
        store.append(NOTE, "ours\n")
    else:
        update(store, NOTE, lambda text: (text or "") + "ours\n")
    editor.join()
    assert store.read(NOTE) == plan + "edited\nours\n"


def test_a_note_that_is_meant_to_be_empty_is_believed(store: Shared, note: Path) -> None:
    store.write(NOTE, "")
    store.write(NOTE, "x", if_match=content_hash(""))
    with pytest.raises(Exception, match="exists already"):
        store.write(NOTE, "y", if_match=ABSENT)


@pytest.mark.parametrize(("successor", "text"), [("one, edited\n", "one, edited\ntwo\n"), (None, "two\n")])
def test_an_append_to_a_file_that_loses_its_name_meanwhile_is_made_again(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch, successor: str | None, text: str
) -> None:
    store.write(NOTE, "one\n")
    real = appending.AppendRecords.write

    def replaced(self: appending.AppendRecords, records: list[appending.Record]) -> None:
        monkeypatch.setattr(appending.AppendRecords, "write", real)
        if successor is None:
            note.unlink()
        else:
            (root / "new").write_text(successor)
            (root / "new").rename(note)
        real(self, records)

    monkeypatch.setattr(appending.AppendRecords, "write", replaced)
    store.append(NOTE, "two\n")
    assert store.read(NOTE) == text
