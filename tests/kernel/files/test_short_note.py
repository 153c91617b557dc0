"""The fast look at a short note that hooks get: the answer is that of reading it, whatever lies there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.errors import AgentmError, NotFoundError, StorageIOError, StoreIdentityError
from agentm_kernel.files.medium import Medium
from agentm_kernel.files.reading import StoreReader
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.locator import Locator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STAMP = '{"id": "a", "layout": 1}\n'


def plain(stamp: Path) -> None:
    stamp.write_text(STAMP)


def absent(stamp: Path) -> None:
    pass


def no_folder(stamp: Path) -> None:
    stamp.parent.rmdir()


def no_root(stamp: Path) -> None:
    stamp.parent.rmdir()
    stamp.parent.parent.rmdir()


def empty(stamp: Path) -> None:
    stamp.write_text("")


def long(stamp: Path) -> None:
    stamp.write_text(STAMP + " " * 100_000)


def not_text(stamp: Path) -> None:
    stamp.write_bytes(b"\xff")


def a_directory(stamp: Path) -> None:
    stamp.mkdir()


def a_fifo(stamp: Path) -> None:
    os.mkfifo(stamp)


def a_link(stamp: Path) -> None:
    plain(stamp.with_name("target"))
    stamp.symlink_to("target")


def below_a_link(stamp: Path) -> None:
    plain(stamp)
    stamp.parent.rename(stamp.parent.with_name("elsewhere"))
    stamp.parent.symlink_to("elsewhere")


def below_a_file(stamp: Path) -> None:
    no_folder(stamp)
    stamp.parent.write_text(STAMP)


def a_fifo_with_something_in_it(stamp: Path) -> None:
    os.mkfifo(stamp)
    descriptor = os.open(stamp, os.O_RDWR | os.O_NONBLOCK)
    os.write(descriptor, STAMP.encode())
    _held_open.append(descriptor)


_held_open: list[int] = []

STATES = (
    plain,
    absent,
    no_folder,
    no_root,
    empty,
    long,
    not_text,
    a_directory,
    a_fifo,
    a_fifo_with_something_in_it,
    a_link,
    below_a_link,
    below_a_file,
)


@pytest.fixture
def stamp(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "store" / STAMP_KEY
    path.parent.mkdir(parents=True)
    yield path
    while _held_open:
        os.close(_held_open.pop())


def root_of(stamp: Path) -> Path:
    return stamp.parent.parent


def carefully(store: FileStore) -> str | None:
    """The stamp as `reading` finds it."""
    try:
        return store._reader.read(Locator(STAMP_KEY))
    except NotFoundError:
        return None


def outcome(look: Callable[[], str | None]) -> object:
    try:
        return look()
    except AgentmError as error:
        return type(error), str(error)


@pytest.mark.parametrize("create_root", [False, True])
@pytest.mark.parametrize("state", STATES)
def test_a_fast_look_says_what_reading_says(stamp: Path, state: Callable[[Path], None], create_root: bool) -> None:
    state(stamp)
    store = FileStore(root_of(stamp), create_root=create_root)
    glimpsed = outcome(store.stamp_text)
    read = outcome(lambda: carefully(FileStore(root_of(stamp), create_root=create_root)))
    assert glimpsed == read
    assert (glimpsed == STAMP) == (state is plain)


def test_a_stamp_of_another_case_is_none(stamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain(stamp)
    looked = []
    monkeypatch.setattr(os, "access", lambda name, *_, **__: looked.append(name) or True)
    store = FileStore(root_of(stamp))
    monkeypatch.setattr(StoreReader, "read", lambda *_: "looked closer")
    assert store.stamp_text() == "looked closer"
    assert looked == ["_META"]


def test_the_root_is_no_short_note(stamp: Path) -> None:
    with pytest.raises(NotFoundError, match="the root of the store is a directory"):
        FileStore(root_of(stamp)).read(Locator())


def test_a_fast_look_loads_nothing_that_reads(stamp: Path) -> None:
    plain(stamp)
    code = (
        "import sys\n"
        "from agentm_kernel.files.store import FileStore\n"
        "assert FileStore(sys.argv[1]).stamp_text()\n"
        "from agentm_kernel.seam.locator import Locator\n"
        f"assert FileStore(sys.argv[1]).read(Locator({STAMP_KEY!r}))\n"
        "print(*(name for name in sys.modules if name.startswith('agentm_kernel.files.')))"
    )
    done = subprocess.run([sys.executable, "-c", code, root_of(stamp)], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) == {f"agentm_kernel.files.{name}" for name in ("medium", "store")}


def test_a_store_that_was_never_written_to_loads_nothing_that_reads(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from agentm_kernel.files.store import FileStore\n"
        "assert FileStore(sys.argv[1], create_root=True).stamp_text() is None\n"
        "print('agentm_kernel.files.reading' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "new"], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_a_store_that_was_never_written_to_says_so_either_way(tmp_path: Path) -> None:
    def store() -> FileStore:
        return FileStore(tmp_path / "new", create_root=True)

    note = Locator("a.md")
    glimpsed = outcome(lambda: store().read(note))
    assert glimpsed == outcome(lambda: store()._reader.read(note))
    assert "has not been written to yet" in str(glimpsed)


def test_the_root_that_was_glimpsed_is_the_only_one(stamp: Path) -> None:
    plain(stamp)
    store = FileStore(root_of(stamp), create_root=True)
    assert store.stamp_text() == STAMP
    root_of(stamp).rename(root_of(stamp).with_name("unmounted"))
    with pytest.raises(StorageIOError, match="is missing"):
        store.read(Locator("a.md"))
    root_of(stamp).mkdir()
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.list(Locator())
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.write(Locator("a.md"), "x")
    assert not list(root_of(stamp).iterdir())


def test_a_second_look_does_not_take_another_root_for_the_first_one(stamp: Path) -> None:
    plain(stamp)
    store = FileStore(root_of(stamp), create_root=True)
    assert store.stamp_text() == STAMP
    root_of(stamp).rename(root_of(stamp).with_name("unmounted"))
    with pytest.raises(StorageIOError, match="is missing"):
        store.stamp_text()
    backup = FileStore(root_of(stamp), create_root=True)
    backup.write(Locator(STAMP_KEY), STAMP)
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.stamp_text()
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.write(Locator("a.md"), "x")


def test_a_store_that_was_looked_through_is_read_as_fast(stamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain(stamp)
    store = FileStore(root_of(stamp))
    assert store.list(Locator()) == [Locator("_meta")]
    monkeypatch.setattr(StoreReader, "read", lambda *_: "looked closer")
    assert store.read(Locator(STAMP_KEY)) == STAMP


def test_a_store_that_was_looked_through_has_one_root_too(stamp: Path) -> None:
    plain(stamp)
    store = FileStore(root_of(stamp))
    assert store.list(Locator()) == [Locator("_meta")]
    root_of(stamp).rename(root_of(stamp).with_name("unmounted"))
    FileStore(root_of(stamp), create_root=True).write(Locator(STAMP_KEY), STAMP)
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.read(Locator(STAMP_KEY))


def test_a_root_that_comes_later_is_the_only_one_from_then_on(stamp: Path) -> None:
    no_root(stamp)
    store = FileStore(root_of(stamp), create_root=True)
    assert store.list(Locator()) == []
    for name in ("first", "second"):
        FileStore(root_of(stamp).with_name(name), create_root=True).write(Locator(STAMP_KEY), STAMP)
    root_of(stamp).with_name("first").rename(root_of(stamp))
    assert store.read(Locator(STAMP_KEY)) == STAMP
    root_of(stamp).rename(root_of(stamp).with_name("first"))
    root_of(stamp).with_name("second").rename(root_of(stamp))
    with pytest.raises(StoreIdentityError, match="not the one this process opened"):
        store.read(Locator(STAMP_KEY))


class Hiding(Medium):
    def is_hidden(self, name: str) -> bool:
        return name == "_meta"


class Copying(Medium):
    def is_copy(self, name: str, beside: Callable[[str], bool]) -> bool:
        return name == "store.json"


class Reading(FileStore):
    def read(self, locator: Locator) -> str:
        return f"its own {locator.name}"


@pytest.mark.parametrize(
    "opened",
    [
        lambda root: FileStore(root, medium=Hiding()),
        lambda root: FileStore(root, medium=Copying()),
        Reading,
    ],
    ids=["hiding", "copying", "reading"],
)
def test_a_store_with_its_own_idea_of_names_or_reading_is_asked_for_it(
    stamp: Path, opened: Callable[[Path], FileStore]
) -> None:
    plain(stamp)
    store = opened(root_of(stamp))
    assert store.stamp_text() == ("its own store.json" if isinstance(store, Reading) else None)


def test_a_stamp_beyond_the_limit_for_notes_is_refused(stamp: Path) -> None:
    plain(stamp)
    for limit in (len(STAMP) - 1, len(STAMP)):
        read = outcome(lambda limit=limit: carefully(FileStore(root_of(stamp), size_limit=limit)))
        assert outcome(FileStore(root_of(stamp), size_limit=limit).stamp_text) == read


def test_a_stamp_that_is_not_on_this_device_is_not_waited_for(stamp: Path) -> None:
    class Elsewhere(Medium):
        def before_reading(self, locator: Locator, status: os.stat_result) -> None:
            raise StorageIOError(f"'{locator}' is not on this device")

    plain(stamp)
    with pytest.raises(StorageIOError, match="not on this device"):
        FileStore(root_of(stamp), medium=Elsewhere()).stamp_text()


def test_a_tree_that_is_not_here_yet_has_no_stamp_that_could_be_missing(stamp: Path) -> None:
    class NotHere(Medium):
        def check_here(self) -> None:
            raise StorageIOError("it was never fetched")

    for root in (root_of(stamp), f"{root_of(stamp)}-missing"):
        with pytest.raises(StorageIOError, match="never fetched"):
            FileStore(root, medium=NotHere(), create_root=True).stamp_text()


def test_that_nothing_was_ever_written_is_seen_at_a_glance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileStore, "_reader", property(lambda _: pytest.fail("a closer look was taken")))
    assert FileStore(tmp_path / "missing", create_root=True).stamp_text() is None


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("state", STATES)
def test_no_fast_look_leaks_a_descriptor(stamp: Path, state: Callable[[Path], None]) -> None:
    state(stamp)
    outcome(FileStore(root_of(stamp)).stamp_text)
    before = len(os.listdir("/proc/self/fd"))
    outcome(FileStore(root_of(stamp)).stamp_text)
    assert len(os.listdir("/proc/self/fd")) == before
