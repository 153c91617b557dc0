"""What the fault campaign once found, each as a case with a name."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from tests.faults.syscalls import Tap

from agentm_kernel.errors import NotFoundError, StorageIOError
from agentm_kernel.files.appending import AppendRecords, Record
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.reading import Failures
from agentm_kernel.files.store import FileStore
from agentm_kernel.files.tree import Directory, identity_of, make_private_folder, make_root
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentm_kernel.files.tree import Identity

NOTE = Locator("folder/note.md")


def test_what_is_gone_is_a_failure_to_whoever_does_not_only_read() -> None:
    gone = FileNotFoundError(errno.ENOENT, "No such file or directory")
    with pytest.raises(StorageIOError, match="cannot write 'folder/note.md': No such file"), Failures("write", NOTE):
        raise gone
    with pytest.raises(NotFoundError), Failures("read", NOTE, reading=True):
        raise gone


class Failing:
    """A handler for `Tap`: the calls of one name that `when` picks fail, with EIO if nothing else is said."""

    def __init__(
        self, call: str, when: Callable[[tuple[Any, ...]], bool] = lambda args: True, code: int = errno.EIO
    ) -> None:
        self._call = call
        self._when = when
        self._code = code

    def __call__(self, name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name != self._call or not self._when(args):
            return real(*args, **kwargs)
        if name == "close":
            real(*args, **kwargs)
        raise OSError(self._code, os.strerror(self._code))


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "memory", create_root=True)


def test_a_close_that_fails_keeps_no_other_thread_out(store: FileStore) -> None:
    with Tap(Failing("close")), pytest.raises(StorageIOError):
        store.write(NOTE, "first")
    writer = threading.Thread(target=store.write, args=(NOTE, "second"), daemon=True)
    writer.start()
    writer.join(5)
    assert store.read(NOTE) == "second"


def test_a_lock_that_cannot_be_looked_at_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with Tap(Failing("fstat")), pytest.raises(StorageIOError), store_mutex(tmp_path):
        pass
    assert len(os.listdir("/dev/fd")) == before


def test_a_folder_that_cannot_be_made_durable_leaves_no_descriptor_open(store: FileStore) -> None:
    store.write(Locator("note.md"), "x")
    before = len(os.listdir("/dev/fd"))
    with Tap(Failing("fsync")), pytest.raises(StorageIOError) as caught:
        store.mkdir(Locator("folder"))
    assert caught.value.errno == errno.EIO
    assert len(os.listdir("/dev/fd")) == before


def test_a_folder_that_cannot_be_swept_leaves_no_descriptor_open(store: FileStore) -> None:
    store.write(Locator("note.md"), "x")
    failing = OSError(errno.EIO, os.strerror(errno.EIO))
    before = len(os.listdir("/dev/fd"))
    with mock.patch.object(Directory, "sweep", side_effect=failing), pytest.raises(StorageIOError):
        store.write(NOTE, "x")
    assert len(os.listdir("/dev/fd")) == before


def test_a_folder_is_taken_for_durable_once_it_was_made_so(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(Locator("note.md"), "x")
    with Tap(Failing("fsync")), pytest.raises(StorageIOError):
        store.mkdir(Locator("folder"))
    synced: list[Identity] = []
    monkeypatch.setattr(Directory, "sync", lambda directory: synced.append(directory.identity))
    root = identity_of(os.stat(store.root))
    store.mkdir(Locator("folder"))
    assert synced == [root], "the first attempt failed"
    store.mkdir(Locator("folder"))
    assert synced == [root], "as it is known to be"
    monkeypatch.setattr(store._writer, "_durable", mock.Mock(__contains__=lambda *_: True, add=lambda *_: None))
    store.mkdir(Locator("new"))
    assert synced == [root, root], "a new one may have the number of one that was removed"


def test_a_folder_that_cannot_be_entered_is_not_absent(store: FileStore) -> None:
    store.write(NOTE, "x")
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with mock.patch.object(Directory, "enter", side_effect=denied):
        for verb in (store.info, store.exists, store.list, store.delete, lambda note: store.write(note, "y")):
            with pytest.raises(StorageIOError) as caught:
                verb(NOTE)
            assert caught.value.errno == errno.EACCES


def test_a_record_of_appends_is_durable_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "appends").mkdir()
    synced: list[Identity] = []
    monkeypatch.setattr(Directory, "sync", lambda directory: synced.append(directory.identity))
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(identity_of(os.fstat(descriptor))))
    records = AppendRecords(str(tmp_path / "appends"), "store")
    records.write([Record("a.md", 1, 0, 0.0, b"x")])
    record = identity_of(os.stat(tmp_path / "appends" / "store"))
    assert synced == [record, identity_of(os.stat(tmp_path / "appends"))]
    records.write([])
    assert synced[2:] == [record], "the name is new once"
    records.forget_all_but([])
    assert len(synced) == 3, "what need not be known any more may come back"


@pytest.mark.parametrize("make", [make_private_folder, lambda path: make_root(path, 0o700)])
def test_a_folder_is_durable_before_the_next_one_in_it_is_made(
    tmp_path: Path, make: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Identity, bool]] = []
    monkeypatch.setattr(
        Directory, "sync", lambda each: synced.append((each.identity, (tmp_path / "a" / "b").exists()))
    )
    make(str(tmp_path / "a" / "b"))
    above, folder = (identity_of(os.stat(path)) for path in (tmp_path, tmp_path / "a"))
    assert synced[-2:] == [(above, False), (folder, True)]


def test_a_disk_that_answers_nothing_is_a_typed_error(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "a" / "b" / "memory", create_root=True)
    for call in ("stat", "scandir"):
        with Tap(Failing(call)), pytest.raises(StorageIOError):
            store.write(NOTE, "anything")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "mounted read-only"),
        (errno.EACCES, "check who owns the store"),
        (errno.EPERM, "check who owns the store"),
        (errno.EIO, "the disk or the mount reports a failure"),
        (errno.ENOTCONN, ""),
    ],
)
def test_an_error_of_the_system_comes_with_its_number_and_what_to_do(
    store: FileStore, code: int, advice: str
) -> None:
    store.write(NOTE, "old")
    with Tap(Failing("fsync", code=code)), pytest.raises(StorageIOError) as caught:
        store.write(NOTE, "new")
    assert caught.value.errno == code
    assert advice in (caught.value.hint or "")
    assert bool(advice) == bool(caught.value.hint)


def test_an_error_without_a_number_comes_as_it_is_and_without_advice(store: FileStore) -> None:
    def fail(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "fsync":
            raise OSError("a mount says something odd")
        return real(*args, **kwargs)

    store.write(NOTE, "old")
    with Tap(fail), pytest.raises(StorageIOError, match="a mount says something odd") as caught:
        store.write(NOTE, "new")
    assert (caught.value.errno, caught.value.hint) == (None, None)


def test_a_temp_file_that_could_not_be_removed_goes_with_the_next_write(store: FileStore, tmp_path: Path) -> None:
    store.write(NOTE, "old")

    def fail_both(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in ("replace", "unlink"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*args, **kwargs)

    folder = tmp_path / "memory" / "folder"
    with Tap(fail_both), pytest.raises(StorageIOError):
        store.write(NOTE, "new")
    assert any(name.startswith(TEMP_PREFIX) for name in os.listdir(folder))
    store.write(NOTE, "newer")
    assert os.listdir(folder) == ["note.md"]


def test_not_knowing_whether_a_store_lies_above_is_not_the_same_as_none(tmp_path: Path) -> None:
    (tmp_path / STAMP_KEY).parent.mkdir()
    (tmp_path / STAMP_KEY).write_text("{}")
    inner = tmp_path / "inner"
    inner.mkdir()
    failing = Failing("stat", lambda args: str(args[0]) == str(tmp_path / STAMP_KEY))
    with Tap(failing), pytest.raises(StorageIOError), store_mutex(inner):
        pass


def test_a_folder_whose_maker_died_is_durable_before_a_note_in_it_is(store: FileStore, tmp_path: Path) -> None:
    folder = tmp_path / "memory" / "folder"
    folder.mkdir(parents=True)  # as somebody did who was killed before the sync
    synced = []

    def watch(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "fsync":
            synced.append(os.fstat(args[0]).st_ino)
        return real(*args, **kwargs)

    with Tap(watch):
        store.write(NOTE, "acknowledged")
    assert synced.index((tmp_path / "memory").stat().st_ino) < synced.index(folder.stat().st_ino)


@pytest.mark.parametrize("verb", ["create", "write", "replace", "append"])
def test_whatever_is_written_is_durable_before_anything_else_happens_to_its_file(store: FileStore, verb: str) -> None:
    """A crash of the machine keeps what was synced; bytes that come after the sync of their file may be gone."""
    if verb != "create":
        store.write(NOTE, "first\n")
    unsynced: dict[int, str] = {}
    lost: list[str] = []

    def watch(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in ("write", "pwrite", "ftruncate"):
            unsynced[args[0]] = name
        elif name == "fsync":
            unsynced.pop(args[0], None)
        elif name == "close" and (left := unsynced.pop(args[0], None)):
            lost.append(left)
        elif name in ("rename", "replace", "link", "exchange", "rename_to_free") and unsynced:
            lost.append(name)
        return real(*args, **kwargs)

    with Tap(watch):
        if verb == "append":
            store.append(NOTE, "second\n")
        elif verb == "replace":
            store.write(NOTE, "second\n", if_match=content_hash("first\n"))
        else:
            store.write(NOTE, "second\n")
    assert lost == []
    assert store.read(NOTE).endswith("second\n")
