"""The same when the disk fails, a signal comes, or the writer is killed in the middle."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.faults.wrong_moment import as_client
from tests.kernel.files.shared_store import NOTE, Beside, Shared, kept, leftovers

from agentm_kernel import Locator
from agentm_kernel.files import displaced
from agentm_kernel.files.tree import Directory, identity_of, open_root
from agentm_kernel.plugin import ABSENT, ConcurrentModificationError, StorageIOError, content_hash

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(root: Path) -> Shared:
    return Shared(root)


# ------------------------------------------------------------------------------------------------ when keeping fails


def test_what_cannot_be_kept_waits_under_its_swap_name_for_the_next_write(
    store: Shared, root: Path, meanwhile
) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with mock.patch.object(Directory, "move", side_effect=full):
        store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"
    assert len(leftovers(root)) == 1
    store.write(Locator("notes/b.md"), "x")
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


@pytest.mark.parametrize("change", ["write", "delete"])
def test_a_displaced_version_that_cannot_be_read_is_put_back_and_the_disk_is_blamed(
    store: Shared, root: Path, change: str
) -> None:
    store.write(NOTE, "seen")
    seen = content_hash("seen")
    failing = mock.patch.object(
        displaced, "hash_of_open_file", side_effect=OSError(errno.EIO, os.strerror(errno.EIO))
    )
    with failing, pytest.raises(StorageIOError, match="Input/output"):
        store.write(NOTE, "ours", if_match=seen) if change == "write" else store.delete(NOTE, if_match=seen)
    assert store.read(NOTE) == "seen"
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == leftovers(root) == []


@pytest.mark.parametrize("condition", [None, content_hash("seen")], ids=["plain", "conditional"])
@pytest.mark.parametrize("next_writer", ["the same", "another"])
def test_an_interrupt_when_the_names_are_exchanged_already_drops_nothing(
    store: Shared, root: Path, meanwhile, condition: str | None, next_writer: str
) -> None:
    real = Directory.exchange

    def interrupted(self: Directory, first: str, second: str) -> bool:
        real(self, first, second)
        raise KeyboardInterrupt

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with mock.patch.object(Directory, "exchange", interrupted), pytest.raises(KeyboardInterrupt):
        store.write(NOTE, "ours", if_match=condition)
    (store if next_writer == "the same" else Shared(root)).write(Locator("notes/b.md"), "x")
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_what_was_kept_before_and_is_worked_on_is_not_replaced(store: Shared, root: Path, meanwhile) -> None:
    for _ in range(2):
        store.write(NOTE, "seen")
        meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
        store.write(NOTE, "ours")
        for path in (root / "_meta").rglob("unseen-*"):
            path.write_text(f"{path.read_text()}, worked on")
    assert kept(root) == ["unseen, worked on", "unseen, worked on, worked on"]


@pytest.mark.parametrize("kind", [Shared, Beside])
def test_a_version_of_the_longest_key_is_kept(root: Path, meanwhile, kind: type[Shared]) -> None:
    note = Locator("/".join(["d" * 199] * 5))
    store = kind(root)
    store.write(note, "seen")
    meanwhile(lambda: as_client(root.joinpath(*note.parts), "unseen"))
    store.write(note, "ours")
    assert "unseen" in [path.read_text() for path in root.rglob("*") if path.is_file()]
    assert leftovers(root) == []


def test_a_version_is_kept_even_where_its_place_is_spelled_otherwise(store: Shared, root: Path, meanwhile) -> None:
    (root / "_meta" / "conflicts" / "Notes").mkdir(parents=True)
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours")
    assert kept(root) == ["unseen"]


def test_what_is_not_there_or_not_at_hand_has_not_been_seen_and_is_not_waited_for(store: Shared, root: Path) -> None:
    store.write(Locator("a.md"), "x")
    with open_root(str(root)) as directory:
        look_at, status = store._writer.displaced.look_at, directory.status("a.md")
        assert look_at(directory, "a.md", status)[0] == content_hash("x")
        assert look_at(directory, "missing.md", None) == (None, None)
        with (
            mock.patch.object(type(store.medium), "is_at_hand", return_value=False),
            mock.patch.object(Directory, "open_file", side_effect=AssertionError),
        ):
            assert look_at(directory, "a.md", status) == (None, None)


def test_a_version_that_is_kept_is_durable_there_before_it_is_gone_from_here(store: Shared, root: Path) -> None:
    synced = []
    store.write(Locator("a.md"), "x")
    with open_root(str(root)) as directory:
        with mock.patch.object(Directory, "sync", lambda each: synced.append((each.identity, kept(root)))):
            store._writer.displaced.keep(directory, "a.md", Locator("a.md"))
        (place,) = (root / "_meta" / "conflicts").rglob("unseen-*")
        assert synced[-2:] == [(identity_of(os.stat(place.parent)), ["x"]), (directory.identity, ["x"])]


def test_what_cannot_be_kept_does_not_keep_anybody_from_writing(store: Shared, root: Path) -> None:
    store.write(NOTE, "x")
    left = root / "notes" / f".agentm-00000000{'0' * 16}{'1' * 16}.a.md.swap"
    odd = root / "notes" / ".agentm-odd.swap"
    left.write_text("unseen")
    odd.write_text("of somebody else")
    with mock.patch.object(Directory, "move", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
        Shared(root).write(NOTE, "y")
    assert left.read_text() == "unseen"
    Shared(root).write(NOTE, "z")
    assert kept(root) == ["unseen"]
    assert odd.read_text() == "of somebody else"


def test_what_got_its_name_back_by_a_link_is_not_kept_a_second_time(store: Shared, root: Path) -> None:
    store.write(NOTE, "unseen")
    os.link(root / "notes" / "a.md", root / "notes" / f".agentm-00000000{'0' * 16}{'1' * 16}.a.md.swap")
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == leftovers(root) == []


def test_of_three_versions_that_arrive_in_the_middle_the_last_one_has_the_name(
    store: Shared, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    exchange = Directory.exchange
    arrivals = iter(["first", "second", "third"])

    def arrive_before(self: Directory, first: str, second: str) -> bool:
        if (text := next(arrivals, None)) is not None:
            as_client(path, text)
        return exchange(self, first, second)

    store.write(NOTE, "seen")
    monkeypatch.setattr(Directory, "exchange", arrive_before)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert path.read_text() == "third"
    assert {*kept(root)} <= {"first", "second"}
    assert leftovers(root) == []


def test_a_file_that_vanishes_when_it_is_compared_is_not_there_any_more(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")
    vanished = mock.patch.object(Directory, "open_file", side_effect=FileNotFoundError(errno.ENOENT, "gone"))
    for change in (
        lambda: store.write(NOTE, "ours", if_match=content_hash("seen")),
        lambda: store.delete(NOTE, if_match=content_hash("seen")),
    ):
        with vanished, pytest.raises(ConcurrentModificationError, match="not there any more"):
            change()


def test_a_file_that_vanishes_when_a_plain_write_looks_at_it_is_written(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")

    def vanish(*_: object) -> None:
        (root / "notes" / "a.md").unlink()
        raise FileNotFoundError(errno.ENOENT, "gone")

    with mock.patch.object(Directory, "hash_file", vanish):
        store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"


@pytest.mark.parametrize("has_such_a_rename", [True, False])
def test_a_version_that_arrives_in_the_middle_of_a_create_stays(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch, has_such_a_rename: bool
) -> None:
    real = Directory.rename_to_free

    def arriving(self: Directory, source: str, target: str) -> bool:
        as_client(root / "notes" / "a.md", "unseen")
        return has_such_a_rename and real(self, source, target)

    store.mkdir(NOTE.parent)
    monkeypatch.setattr(Directory, "rename_to_free", arriving)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_without_links_and_such_renames_a_version_that_is_there_at_another_look_stays(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(self: Directory, *_: object) -> None:
        as_client(root / "notes" / "a.md", "unseen")
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    store.mkdir(NOTE.parent)
    monkeypatch.setattr(Directory, "rename_to_free", lambda *_: False)
    monkeypatch.setattr(Directory, "link", no_links)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_a_link_that_took_effect_and_said_otherwise_counts(store: Shared, root: Path) -> None:
    real = Directory.link

    def lost_reply(self: Directory, source: str, target: str) -> None:
        real(self, source, target)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    no_such_renames = mock.patch.object(Directory, "rename_to_free", return_value=False)
    with no_such_renames, mock.patch.object(Directory, "link", lost_reply):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert store.read(NOTE) == "ours"
    assert leftovers(root) == []


# ------------------------------------------------------------------------------------------------ a killed writer

_KILLED = """
import os, sys
from agentm_kernel.plugin import FileStore, Locator, Medium
from agentm_kernel.files import atomic
from agentm_kernel.files.tree import Directory

class Synced(Medium):
    pass

root, moment, arrives = sys.argv[1:]
real_temp, real_exchange, real_discard = atomic.write_temp, Directory.exchange, atomic.discard

def write_temp(*args):
    real_temp(*args)
    if arrives:
        with open(os.path.join(root, "arriving"), "w") as file:
            file.write(arrives)
        os.rename(os.path.join(root, "arriving"), os.path.join(root, "notes", "a.md"))

def exchange(self, first, second):
    if moment == "before":
        os._exit(9)
    done = real_exchange(self, first, second)
    os._exit(9)

atomic.write_temp, Directory.exchange = write_temp, exchange
FileStore(root, medium=Synced()).write(Locator("notes/a.md"), "ours")
"""


@pytest.mark.parametrize(
    ("moment", "arrives", "note", "versions"),
    [
        ("before", "", "seen", []),  # ours was never acknowledged
        ("after", "", "ours", []),
        ("before", "unseen", "unseen", []),
        ("after", "unseen", "ours", ["unseen"]),
    ],
)
def test_what_a_killed_writer_had_displaced_is_found_by_the_next(
    store: Shared, root: Path, moment: str, arrives: str, note: str, versions: list[str]
) -> None:
    store.write(NOTE, "seen")
    done = subprocess.run([sys.executable, "-c", _KILLED, str(root), moment, arrives], check=False)
    assert done.returncode == 9
    assert len(leftovers(root)) == 1
    assert store.list(NOTE.parent) == [NOTE]
    Shared(root).write(Locator("notes/b.md"), "x")
    assert store.read(NOTE) == note
    assert kept(root) == versions
    assert leftovers(root) == []


def test_the_longest_name_has_room_for_its_swap_name(store: Shared) -> None:
    note = Locator("n" * 197 + ".md")
    store.write(note, "one")
    store.write(note, "two")
    assert store.read(note) == "two"
