"""Adding to a note in place, beside programs that write it too: what was added is in the note, or kept and listed."""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.shared_store import NOTE, Shared, kept

from agentm_kernel import Locator, update
from agentm_kernel.files import appending
from agentm_kernel.files.tree import Directory, identity_of
from agentm_kernel.plugin import (
    ABSENT,
    Appends,
    FileStore,
    InvalidContentError,
    LocatorConflictError,
    Medium,
    StorageIOError,
    content_hash,
)
from agentm_kernel.seam.update import append

if TYPE_CHECKING:
    from pathlib import Path

OTHER = Locator("notes/b.md")


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


@pytest.mark.parametrize("left", ["one\n", "one\nours\n", "one\nou"])
def test_the_last_lines_that_somebody_removes_later_in_place_stay_away(
    store: Shared, root: Path, note: Path, left: str
) -> None:
    """What is left is then a beginning of what was added, as after a kill; but no kill changes it an hour later."""
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\nand more\n")
    note.write_text(left)
    later = time.time() + 3600
    os.utime(note, (later, later))
    FileStore(root).append(OTHER, "next\n")
    assert (store.read(NOTE), kept(root)) == (left, [])


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


def test_a_write_that_replaces_an_append_on_purpose_keeps_no_version_of_it(
    store: Shared, root: Path, note: Path
) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    store.write(NOTE, "something else\n", if_match=content_hash("one\nours\n"))
    store.write(NOTE, "and more\n")
    assert kept(root) == []


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


def test_a_note_that_nobody_can_look_at_any_more_keeps_no_other_from_being_written(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(NOTE, "ours\n")
    (root / "notes").rename(root.parent / "notes")
    (root / "notes").symlink_to(root.parent / "notes")
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 3.0)
    FileStore(root).write(Locator("c.md"), "x\n")
    FileStore(root).append(Locator("c.md"), "y\n")
    assert store.read(Locator("c.md")) == "x\ny\n"


def test_the_append_is_looked_for_once_its_note_can_be_looked_at_again(store: Shared, root: Path, note: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "ours\n")
    (root / "notes").rename(root.parent / "notes")
    (root / "notes").symlink_to(root.parent / "notes")
    store.append(Locator("c.md"), "x\n")
    (root / "notes").unlink()
    (root.parent / "notes").rename(root / "notes")
    note.write_text("saved over by an editor\n")
    store.append(Locator("c.md"), "y\n")
    assert kept(root) == ["ours\n"]


def test_a_note_whose_content_went_elsewhere_is_not_fetched_for_a_write_of_another(root: Path) -> None:
    """A sync tool that frees space waits for its network when the file is opened: whoever writes would wait, too."""

    class Elsewhere(Medium):
        def is_at_hand(self, status: os.stat_result) -> bool:
            return is_at_hand

    is_at_hand = True
    store = FileStore(root, medium=Elsewhere())
    store.append(NOTE, "ours\n")
    is_at_hand, opened, real = False, list[str](), Directory.open_file

    def open_file(self: Directory, name: str, *flags: int) -> int:
        opened.append(name)
        return real(self, name, *flags)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Directory, "open_file", open_file)
        store.append(OTHER, "x\n")
    assert NOTE.name not in opened


@pytest.mark.parametrize("has_generation", [True, False])
def test_another_folder_that_got_the_number_of_one_that_is_gone_has_none_of_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_generation: bool
) -> None:
    """A file system gives the numbers of what was deleted to what is made next: to the next project's folder."""
    gone, made, note = tmp_path / "gone", tmp_path / "made", Locator("progress.md")
    gone.mkdir()
    made.mkdir()
    status, real = gone.stat(), Directory.lasting_number

    def of_the_same_number(self: Directory, path: str) -> str:
        self._status = status
        return real(self, path)

    monkeypatch.setattr(Directory, "lasting_number", of_the_same_number)
    if not has_generation:
        monkeypatch.setattr(Directory, "_generation", lambda self: b"")
    FileStore(gone).append(note, "a line of a project that is gone\n")
    (made / "progress.md").write_text("another project\n")
    FileStore(made).append(note, "more\n")
    assert [path.name for path in made.rglob("*")] == ["progress.md"]


def test_a_folder_that_was_moved_has_its_lines_where_it_is_told_by_its_generation(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Directory, "_generation", lambda self: b"the same")
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    note.write_text("one\nt")
    moved = root.rename(root.parent / "moved")
    FileStore(moved).append(NOTE, "three\n")
    assert (moved / "notes" / "a.md").read_text() == "one\ntwo\nthree\n"


def test_a_line_that_a_full_disk_refused_does_not_come_later(
    store: Shared, root: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was told that it failed says it again, or has changed their mind."""
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    inode, real = note.stat().st_ino, os.write

    def full(file: int, data: bytes) -> int:
        if os.fstat(file).st_ino == inode:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StorageIOError, match="No space left"):
            store.append(NOTE, "three\n")
    store.append(NOTE, "three\n")
    assert (store.read(NOTE), kept(root)) == ("one\ntwo\nthree\n", [])
    note.write_text("saved over by an editor\n")
    store.append(NOTE, "four\n")
    assert kept(root) == ["two\nthree\n"], "the record of the line before has stayed"


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


def test_a_program_that_never_ends_its_line_is_not_waited_for(store: Shared, note: Path) -> None:
    store.write(NOTE, "one\n")
    ended = threading.Event()

    def dots() -> None:
        with note.open("a") as file:
            while not ended.wait(0.02):
                file.write(".")
                file.flush()

    program = threading.Thread(target=dots)
    program.start()
    try:
        time.sleep(0.1)
        began = time.monotonic()
        store.append(NOTE, "ours\n")
        assert time.monotonic() - began < 2.0
    finally:
        ended.set()
        program.join(3.0)
    assert "\nours\n" in store.read(NOTE)


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
