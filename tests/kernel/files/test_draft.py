"""What a writer does while it waits for the mutex: it makes its new version durable, as a draft."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.files import native_lock
from agentm_kernel.files.atomic import Draft
from agentm_kernel.files.tree import open_root
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    FileStore,
    LocatorConflictError,
    LockTimeout,
    content_hash,
)
from agentm_kernel.seam.locator import TEMP_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Arrange = Callable[[Callable[[], object]], None]

pytestmark = pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")

NOTE = Locator("notes/plan.md")


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """One whose folder this process has written to before."""
    store = FileStore(tmp_path, lock_timeout=0.05)
    store.write(NOTE, "old\n")
    return store


@pytest.fixture
def while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arrange]:
    """Take the lock, as another process would, and give it back when the writer has its draft and this was done."""
    held: list[int] = []

    def release() -> None:
        while held:
            os.close(held.pop())

    def arrange(work: Callable[[], object]) -> None:
        held.append(os.open(tmp_path, os.O_RDONLY))
        assert native_lock.try_lock(held[0])
        make = Draft.make

        def made(draft: Draft) -> None:
            make(draft)
            monkeypatch.setattr(Draft, "make", make)
            work()
            release()

        monkeypatch.setattr(Draft, "make", made)

    yield arrange
    release()


def drafts(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{TEMP_PREFIX}*.tmp"))


def is_free(root: Path) -> bool:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        return native_lock.try_lock(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("condition", [None, content_hash("old\n")])
def test_the_draft_becomes_the_note(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange, condition: str | None
) -> None:
    seen: list[tuple[str, int]] = []
    while_it_waits(lambda: seen.extend((d.read_text(), d.stat().st_ino) for d in drafts(tmp_path / "notes")))
    store.write(NOTE, "new\n", if_match=condition)
    assert seen == [("new\n", (tmp_path / NOTE.key).stat().st_ino)]
    assert store.read(NOTE) == "new\n"
    assert not drafts(tmp_path / "notes")


def test_a_new_note_has_a_draft_too_and_is_not_put_over_another(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange
) -> None:
    while_it_waits(lambda: (tmp_path / "notes" / "other.md").write_text("theirs"))
    with pytest.raises(ConcurrentModificationError, match="exists already"):
        store.write(Locator("notes/other.md"), "ours", if_match=ABSENT)
    assert (tmp_path / "notes" / "other.md").read_text() == "theirs"
    while_it_waits(lambda: (tmp_path / "notes" / "Third.md").write_text("theirs"))
    with pytest.raises(LocatorConflictError, match="only in case"):
        store.write(Locator("notes/third.md"), "ours")
    while_it_waits(lambda: None)
    store.write(Locator("notes/fourth.md"), "ours")
    assert store.read(Locator("notes/fourth.md")) == "ours"
    assert not drafts(tmp_path / "notes")


def _sweep(folder: Path) -> None:
    with open_root(str(folder)) as directory:
        directory.sweep()


def _put_another_file_there(folder: Path) -> None:
    (draft,) = drafts(folder)
    draft.rename(folder / "elsewhere")
    draft.write_text("not what we wrote")


def _replace_the_folder(folder: Path) -> None:
    folder.rename(folder.parent / "moved")
    folder.mkdir()
    (folder / "plan.md").write_text("another\n")


@pytest.mark.parametrize("work", [_sweep, _put_another_file_there, _replace_the_folder])
def test_a_draft_that_is_not_there_any_more_is_written_again(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange, work: Callable[[Path], None]
) -> None:
    while_it_waits(lambda: work(tmp_path / "notes"))
    store.write(NOTE, "new\n")
    assert (tmp_path / NOTE.key).read_text() == "new\n"
    assert not drafts(tmp_path / "moved")
    if work is _replace_the_folder:
        assert (tmp_path / "moved" / "plan.md").read_text() == "old\n"


def test_a_note_that_has_another_mode_by_then_keeps_that(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange
) -> None:
    note = tmp_path / NOTE.key
    note.chmod(0o640)
    while_it_waits(lambda: note.chmod(0o600))
    store.write(NOTE, "new\n")
    assert (note.read_text(), stat.S_IMODE(note.stat().st_mode)) == ("new\n", 0o600)
    assert not drafts(tmp_path / "notes")


def test_a_note_that_is_gone_by_then_is_made_as_a_new_one(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange
) -> None:
    note = tmp_path / NOTE.key
    note.chmod(0o604)
    while_it_waits(note.unlink)
    store.write(NOTE, "new\n")
    assert stat.S_IMODE(note.stat().st_mode) != 0o604
    assert not drafts(tmp_path / "notes")


def test_a_condition_that_does_not_hold_by_then_leaves_no_draft(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange
) -> None:
    while_it_waits(lambda: (tmp_path / NOTE.key).write_text("theirs\n"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "new\n", if_match=content_hash("old\n"))
    assert store.read(NOTE) == "theirs\n"
    assert not drafts(tmp_path / "notes")


def test_a_writer_whose_time_is_up_leaves_no_draft(store: FileStore, tmp_path: Path, hold) -> None:
    hold(tmp_path)
    with pytest.raises(LockTimeout):
        store.write(NOTE, "new\n")
    assert (tmp_path / NOTE.key).read_text() == "old\n"
    assert not drafts(tmp_path / "notes")


@pytest.mark.parametrize("name", ["new/plan.md", "plan.md"])
def test_there_is_no_draft_where_this_process_has_not_swept(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange, name: str
) -> None:
    while_it_waits(lambda: pytest.fail("a draft") if [*tmp_path.rglob(f"{TEMP_PREFIX}*.tmp")] else None)
    store.write(Locator(name), "new\n")
    assert (tmp_path / name).read_text() == "new\n"


def test_a_disk_that_fails_the_draft_fails_nobody(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def full(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    while_it_waits(lambda: None)
    monkeypatch.setattr(os, "fsync", full)
    store.write(NOTE, "new\n")
    assert store.read(NOTE) == "new\n"
    assert not drafts(tmp_path / "notes")


@pytest.mark.parametrize("is_crowded", [False, True])
def test_an_interrupted_draft_leaves_nothing(
    store: FileStore,
    tmp_path: Path,
    while_it_waits: Arrange,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_crowded: bool,
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    if is_crowded:
        while_it_waits(lambda: None)
        store.write(NOTE, "old\n")
        monkeypatch.setattr("agentm_kernel.files.atomic._CROWDED", 1e9)
    while_it_waits(lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupt)
        before = len(os.listdir("/dev/fd"))
        with pytest.raises(KeyboardInterrupt):
            store.write(NOTE, "new\n")
        assert len(os.listdir("/dev/fd")) == before
    assert store.exists(NOTE)
    assert (tmp_path / NOTE.key).read_text() == "old\n"
    assert not drafts(tmp_path / "notes")


def test_after_meeting_others_a_writer_makes_its_draft_first(
    store: FileStore, tmp_path: Path, while_it_waits: Arrange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentm_kernel.files.atomic._CROWDED", 1e9)
    was_free: list[bool] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        was_free.append(is_free(tmp_path))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    store.write(NOTE, "1\n")
    assert was_free == [False, True], "alone: the file is synced by the holder of the mutex, the folder after it"
    while_it_waits(lambda: None)
    store.write(NOTE, "2\n")
    was_free.clear()
    store.write(NOTE, "3\n")
    assert was_free == [True, True]
    assert store.read(NOTE) == "3\n"
    assert not drafts(tmp_path / "notes")
