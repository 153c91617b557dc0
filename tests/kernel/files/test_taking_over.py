"""A version that somebody else puts under a note's name in the middle of our write is never lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from tests.faults.wrong_moment import as_client, in_the_middle_of_a_write

from agentm_kernel import (
    ABSENT,
    ConcurrentModificationError,
    FileStore,
    Locator,
    LocatorConflictError,
    StorageIOError,
    content_hash,
    update,
)
from agentm_kernel.files import taking_over
from agentm_kernel.files.taking_over import Keeper
from agentm_kernel.files.tree import FdDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = Locator("notes/a.md")


class Shared(FileStore):
    """A store whose folder a sync client writes to as well."""

    has_other_writers = True

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return Locator(f"_meta/conflicts/{locator}/unseen-{digest[:12]}")


@pytest.fixture
def store(root: Path) -> Shared:
    return Shared(root)


def kept(root: Path) -> list[str]:
    """The versions that were displaced unseen."""
    return sorted(path.read_text() for path in (root / "_meta" / "conflicts").rglob("unseen-*"))


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".agentm-*")]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    return partial(in_the_middle_of_a_write, monkeypatch)


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FdDirectory, "exchange", lambda self, first, second: False)


# ------------------------------------------------------------------------------------------------ in the middle


ARRIVALS = {
    "by a rename": as_client,
    "in place": lambda path, text: path.write_text(text),
}


@pytest.mark.parametrize("arrive", ARRIVALS.values(), ids=ARRIVALS)
def test_a_version_that_arrives_in_the_middle_of_a_plain_write_is_kept(
    store: Shared, root: Path, meanwhile, arrive: Callable[[Path, str], None]
) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: arrive(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


@pytest.mark.parametrize("arrive", ARRIVALS.values(), ids=ARRIVALS)
def test_a_version_that_arrives_in_the_middle_refuses_a_write_that_expected_another(
    store: Shared, root: Path, meanwhile, arrive: Callable[[Path, str], None]
) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: arrive(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError, match="another program"):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert kept(root) == leftovers(root) == []


def test_an_update_takes_in_a_version_that_arrives_in_the_middle(store: Shared, root: Path, meanwhile) -> None:
    store.write(NOTE, "one\n")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "one\ntwo\n"))
    update(store, NOTE, lambda text: (text or "") + "three\n")
    assert store.read(NOTE) == "one\ntwo\nthree\n"
    assert kept(root) == []


def test_of_two_versions_that_arrive_in_the_middle_the_later_one_has_the_name(
    store: Shared, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    digest = Keeper.digest

    def another_arrives(self: Keeper, *args: Any) -> str | None:
        monkeypatch.setattr(Keeper, "digest", digest)
        as_client(path, "later")  # in the place of ours, which is there for a moment
        return digest(self, *args)

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(path, "unseen"))
    monkeypatch.setattr(Keeper, "digest", another_arrives)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "later"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_a_version_that_arrives_and_is_deleted_with_ours_gets_its_name_back(
    store: Shared, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    digest = Keeper.digest

    def ours_is_deleted(self: Keeper, *args: Any) -> str | None:
        monkeypatch.setattr(Keeper, "digest", digest)
        path.unlink()
        return digest(self, *args)

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(path, "unseen"))
    monkeypatch.setattr(Keeper, "digest", ours_is_deleted)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_a_version_that_we_saw_is_not_kept(store: Shared, root: Path, meanwhile) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "seen"))
    store.write(NOTE, "ours")
    store.write(NOTE, "ours again")
    assert not (root / "_meta" / "conflicts").exists()
    assert leftovers(root) == []


def test_a_file_that_appears_in_the_middle_of_a_create_is_a_conflict(store: Shared, root: Path, meanwhile) -> None:
    store.mkdir(NOTE.parent)
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert (root / "notes" / "a.md").read_text() == "unseen"
    assert leftovers(root) == []


def test_a_file_that_appears_in_the_middle_of_a_plain_write_is_kept(store: Shared, root: Path, meanwhile) -> None:
    store.mkdir(NOTE.parent)
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]


def test_a_file_that_is_deleted_in_the_middle_is_a_conflict_for_who_expected_it(
    store: Shared, root: Path, meanwhile
) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", None))
    with pytest.raises(ConcurrentModificationError, match="not there any more"):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert not store.exists(NOTE)
    assert leftovers(root) == []


def test_a_file_that_is_deleted_in_the_middle_of_a_plain_write_is_written(
    store: Shared, root: Path, meanwhile
) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", None))
    store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"
    assert leftovers(root) == []


def test_a_folder_that_takes_the_note_s_place_stays_there(store: Shared, root: Path, meanwhile) -> None:
    def become_folder() -> None:
        (root / "notes" / "a.md").unlink()
        (root / "notes" / "a.md").mkdir()
        (root / "notes" / "a.md" / "inside.md").write_text("x")

    store.write(NOTE, "seen")
    meanwhile(become_folder)
    with pytest.raises(LocatorConflictError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert (root / "notes" / "a.md" / "inside.md").read_text() == "x"
    assert leftovers(root) == []


def test_the_mode_of_the_file_survives_the_exchange(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")
    (root / "notes" / "a.md").chmod(0o640)
    store.write(NOTE, "ours")
    assert (root / "notes" / "a.md").stat().st_mode & 0o777 == 0o640


# ------------------------------------------------------------------------------------------------ when keeping fails


def test_what_cannot_be_kept_is_put_back_and_the_write_fails(
    store: Shared, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: FdDirectory, *args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    monkeypatch.setattr(FdDirectory, "move", fail)
    with pytest.raises(StorageIOError, match="space"):
        store.write(NOTE, "ours")
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_what_can_neither_be_kept_nor_put_back_waits_for_the_next_writer(
    store: Shared, root: Path, meanwhile
) -> None:
    real = FdDirectory.exchange
    exchanges = []

    def exchange_once(self: FdDirectory, first: str, second: str) -> bool:
        exchanges.append(first)
        if len(exchanges) > 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, first, second)

    def fail(self: FdDirectory, *args: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with (
        mock.patch.object(FdDirectory, "move", fail),
        mock.patch.object(FdDirectory, "exchange", exchange_once),
        pytest.raises(StorageIOError),
    ):
        store.write(NOTE, "ours")
    assert len(leftovers(root)) == 1
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


@pytest.mark.parametrize("change", ["write", "delete"])
def test_a_displaced_version_that_cannot_be_read_is_put_back_and_the_disk_is_blamed(
    store: Shared, root: Path, change: str
) -> None:
    store.write(NOTE, "seen")
    seen = content_hash("seen")
    failing = mock.patch.object(taking_over, "hash_of_file", side_effect=OSError(errno.EIO, os.strerror(errno.EIO)))
    with failing, pytest.raises(StorageIOError, match="Input/output"):
        store.write(NOTE, "ours", if_match=seen) if change == "write" else store.delete(NOTE, if_match=seen)
    assert store.read(NOTE) == "seen"
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == leftovers(root) == []


@pytest.mark.parametrize("condition", [None, content_hash("seen")], ids=["plain", "conditional"])
def test_an_interrupt_when_the_names_are_exchanged_already_drops_nothing(
    store: Shared, root: Path, meanwhile, condition: str | None
) -> None:
    real = FdDirectory.exchange

    def interrupted(self: FdDirectory, first: str, second: str) -> bool:
        real(self, first, second)
        raise KeyboardInterrupt

    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with mock.patch.object(FdDirectory, "exchange", interrupted), pytest.raises(KeyboardInterrupt):
        store.write(NOTE, "ours", if_match=condition)
    Shared(root).write(Locator("notes/b.md"), "x")
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


class Beside(Shared):
    """Keeps other versions beside the note."""

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return locator.beside(f"unseen {digest[:8]}")


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


def test_what_cannot_be_kept_does_not_keep_anybody_from_writing(store: Shared, root: Path) -> None:
    store.write(NOTE, "x")
    left = root / "notes" / f".agentm-00000000{'0' * 16}{'1' * 16}.a.md.swap"
    odd = root / "notes" / ".agentm-odd.swap"
    left.write_text("unseen")
    odd.write_text("of somebody else")
    with mock.patch.object(FdDirectory, "move", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
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
    exchange = FdDirectory.exchange
    arrivals = iter(["first", "second", "third"])

    def arrive_before(self: FdDirectory, first: str, second: str) -> bool:
        if (text := next(arrivals, None)) is not None:
            as_client(path, text)
        return exchange(self, first, second)

    store.write(NOTE, "seen")
    monkeypatch.setattr(FdDirectory, "exchange", arrive_before)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert path.read_text() == "third"
    assert {*kept(root)} <= {"first", "second"}
    assert leftovers(root) == []


def test_a_file_that_vanishes_when_it_is_compared_is_not_there_any_more(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")
    vanished = mock.patch.object(FdDirectory, "open_file", side_effect=FileNotFoundError(errno.ENOENT, "gone"))
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

    with mock.patch.object(taking_over, "hash_of_file", vanish):
        store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"


def test_without_links_a_version_that_arrives_in_the_middle_of_a_create_stays(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(self: FdDirectory, *_: object) -> None:
        as_client(root / "notes" / "a.md", "unseen")
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    store.mkdir(NOTE.parent)
    monkeypatch.setattr(FdDirectory, "link", no_links)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_a_link_that_took_effect_and_said_otherwise_counts(store: Shared, root: Path) -> None:
    real = FdDirectory.link

    def lost_reply(self: FdDirectory, source: str, target: str) -> None:
        real(self, source, target)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with mock.patch.object(FdDirectory, "link", lost_reply):
        store.write(NOTE, "ours", if_match=ABSENT)
    assert store.read(NOTE) == "ours"
    assert leftovers(root) == []


# ------------------------------------------------------------------------------------------------ a killed writer

_KILLED = """
import os, sys
from agentm_kernel import FileStore, Locator
from agentm_kernel.files import atomic
from agentm_kernel.files.tree import FdDirectory

class Shared(FileStore):
    has_other_writers = True

root, moment, arrives = sys.argv[1:]
real_temp, real_exchange, real_discard = atomic._write_temp, FdDirectory.exchange, atomic.discard

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

atomic._write_temp, FdDirectory.exchange = write_temp, exchange
Shared(root).write(Locator("notes/a.md"), "ours")
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


# ------------------------------------------------------------------------------------------------ no exchange


def test_without_exchange_the_content_is_compared_once_more(
    store: Shared, root: Path, meanwhile, no_exchange
) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_without_exchange_a_plain_write_keeps_a_copy(store: Shared, root: Path, meanwhile, no_exchange) -> None:
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours")
    assert store.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_without_exchange_writing_works_as_ever(store: Shared, no_exchange) -> None:
    store.write(NOTE, "one", if_match=ABSENT)
    store.write(NOTE, "two")
    store.write(NOTE, "three", if_match=content_hash("two"))
    assert store.read(NOTE) == "three"


# ------------------------------------------------------------------------------------------------ deleting


def happens_before_rename(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """At the worst moment of a deletion: everything is compared, and nothing has been moved."""
    real = FdDirectory.replace

    def replace(self: FdDirectory, source: str, target: str) -> None:
        monkeypatch.setattr(FdDirectory, "replace", real)
        happens()
        real(self, source, target)

    monkeypatch.setattr(FdDirectory, "replace", replace)


def test_a_note_that_is_as_expected_is_deleted(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")
    store.delete(NOTE, if_match=content_hash("seen"))
    assert not store.exists(NOTE)
    assert kept(root) == leftovers(root) == []


@pytest.mark.parametrize("arrive", ARRIVALS.values(), ids=ARRIVALS)
def test_a_version_that_arrives_in_the_middle_of_a_deletion_stays(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch, arrive: Callable[[Path, str], None]
) -> None:
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: arrive(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError, match="another program"):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert kept(root) == leftovers(root) == []


def test_of_two_versions_that_arrive_in_the_middle_of_a_deletion_none_is_lost(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    digest = Keeper.digest

    def another_arrives(self: Keeper, *args: Any) -> str | None:
        monkeypatch.setattr(Keeper, "digest", digest)
        as_client(path, "later")
        return digest(self, *args)

    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(path, "unseen"))
    monkeypatch.setattr(Keeper, "digest", another_arrives)
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert store.read(NOTE) == "later"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_a_note_that_vanishes_in_the_middle_of_its_deletion_is_not_there_any_more(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, (root / "notes" / "a.md").unlink)
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert leftovers(root) == []


def test_a_deletion_by_a_new_process_that_is_refused_twice_over_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    digest = Keeper.digest

    def another_arrives(self: Keeper, *args: Any) -> str | None:
        monkeypatch.setattr(Keeper, "digest", digest)
        as_client(path, "later")
        return digest(self, *args)

    Beside(root).write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(path, "unseen"))
    monkeypatch.setattr(Keeper, "digest", another_arrives)
    with pytest.raises(ConcurrentModificationError):
        Beside(root).delete(NOTE, if_match=content_hash("seen"))
    assert sorted(file.read_text() for file in path.parent.iterdir()) == ["later", "unseen"]


@pytest.mark.parametrize(("holds", "versions"), [("seen", []), ("unseen", ["unseen"])])
def test_what_a_killed_deletion_had_moved_is_settled_by_the_next_writer(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch, holds: str, versions: list[str]
) -> None:
    store.write(NOTE, "seen")
    (root / "notes" / "a.md").write_text("seen")
    killed = mock.patch.object(Keeper, "digest", side_effect=KeyboardInterrupt)
    with killed, mock.patch.object(taking_over, "_give_back"), pytest.raises(KeyboardInterrupt):
        store.delete(NOTE, if_match=content_hash("seen"))
    (left,) = (path for path in root.rglob(".agentm-*.swap"))
    left.write_text(holds)
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == versions
    assert leftovers(root) == []


# ------------------------------------------------------------------------------------------------ as fast as it can


_CLIENT = """
import os, sys
from agentm_kernel.files.exchange import exchange

folder = os.open(sys.argv[1], os.O_RDONLY)
for number in range(int(sys.argv[2])):
    with open(os.open(".download.partial", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600, dir_fd=folder), "w") as file:
        file.write(f"client {number}")
    if not exchange(folder, ".download.partial", "a.md"):
        sys.exit(3)
    with open(os.open(".download.partial", os.O_RDONLY, dir_fd=folder)) as file:
        print(file.read())
os.unlink(".download.partial", dir_fd=folder)
"""


def test_of_a_client_that_replaces_the_file_as_fast_as_it_can_no_version_is_lost(store: Shared, root: Path) -> None:
    """Every version was displaced by the client, compared by a writer, kept, or is there at the end."""
    store.write(NOTE, "start")
    versions = 3000
    compared, acknowledged = set(), []
    displaced: list[str] = []
    command = [sys.executable, "-c", _CLIENT, str(root / "notes"), str(versions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        reader = threading.Thread(
            target=lambda lines: displaced.extend(map(str.rstrip, lines)), args=(client.stdout,)
        )
        reader.start()
        while client.poll() is None:
            text = store.read(NOTE)
            mine = f"writer {len(acknowledged)}"
            try:
                store.write(NOTE, mine, if_match=content_hash(text))
            except ConcurrentModificationError:
                continue
            compared.add(text)
            acknowledged.append(mine)
        reader.join()
    if client.returncode == 3:
        pytest.skip("this file system cannot exchange names")
    assert client.returncode == 0
    everything = {"start", *acknowledged, *(f"client {number}" for number in range(versions))}
    found = {*displaced, *compared, *kept(root), store.read(NOTE)}
    assert everything - found == set()
    assert leftovers(root) == []


# ------------------------------------------------------------------------------------------------ a plain folder


@pytest.mark.parametrize("arrive", ARRIVALS.values(), ids=ARRIVALS)
def test_a_plain_store_looks_once_more_before_it_renames(
    root: Path, meanwhile, arrive: Callable[[Path, str], None]
) -> None:
    store = FileStore(root)
    store.write(NOTE, "seen")
    meanwhile(lambda: arrive(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError, match="another program"):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_a_plain_store_would_lose_a_version_that_arrives_after_that(root: Path, monkeypatch) -> None:
    """The control: what the exchange is for."""
    store = FileStore(root)
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert not any(path.read_text() == "unseen" for path in root.rglob("*") if path.is_file())
