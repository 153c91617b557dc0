"""A version that a sync client puts under a note's name in the middle of our write is kept, whatever happens then."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel import (
    ABSENT,
    ConcurrentModificationError,
    FileStore,
    Locator,
    LocatorConflictError,
    StorageIOError,
    content_hash,
)
from agentm_kernel.files import atomic
from agentm_kernel.files.tree import FdDirectory
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = Locator("notes/a.md")


def kept(root: Path) -> list[str]:
    """The versions that were displaced unseen."""
    return sorted(path.read_text() for path in (root / "_meta" / "conflicts").rglob("unseen-*"))


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".agentm-*")]


def as_client(path: Path, text: str | None) -> None:
    """What a sync client does: a finished download is renamed over the file, or the file is deleted."""
    if text is None:
        path.unlink(missing_ok=True)
    else:
        temp = path.with_name(".download.partial")
        temp.write_text(text)
        temp.rename(path)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let something happen at the worst moment: when everything is compared and the temp file is finished."""

    def arrange(happens: Callable[[], None]) -> None:
        real = atomic._write_temp
        pending = [happens]

        def write_temp(*args: object) -> None:
            real(*args)  # type: ignore[arg-type]
            if pending:
                pending.pop()()

        monkeypatch.setattr(atomic, "_write_temp", write_temp)

    return arrange


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FdDirectory, "exchange", lambda self, first, second: False)


# ------------------------------------------------------------------------------------------------ in the middle


@pytest.mark.parametrize("conditional", [False, True])
def test_a_version_that_arrives_in_the_middle_is_kept(
    vault: VaultBackend, root: Path, meanwhile, conditional: bool
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    vault.write(NOTE, "ours", if_match=content_hash("seen") if conditional else None)
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []
    (conflict,) = find_conflicts(vault)
    assert (conflict.base, conflict.tool) == (NOTE, "agentm")


def test_a_version_edited_in_place_is_kept(vault: VaultBackend, root: Path, meanwhile) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: (root / "notes" / "a.md").write_text("unse"))
    vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert kept(root) == ["unse"]


def test_a_version_that_we_saw_is_not_kept(vault: VaultBackend, root: Path, meanwhile) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "seen"))
    vault.write(NOTE, "ours")
    vault.write(NOTE, "ours again")
    assert not (root / "_meta" / "conflicts").exists()
    assert leftovers(root) == []


def test_a_file_that_appears_in_the_middle_of_a_create_is_a_conflict(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.mkdir(NOTE.parent)
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError):
        vault.write(NOTE, "ours", if_match=ABSENT)
    assert (root / "notes" / "a.md").read_text() == "unseen"
    assert leftovers(root) == []


def test_a_file_that_appears_in_the_middle_of_a_plain_write_is_kept(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.mkdir(NOTE.parent)
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    vault.write(NOTE, "ours")
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]


def test_a_file_that_is_deleted_in_the_middle_is_a_conflict_for_who_expected_it(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", None))
    with pytest.raises(ConcurrentModificationError, match="not there any more"):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert not vault.exists(NOTE)
    assert leftovers(root) == []


def test_a_file_that_is_deleted_in_the_middle_of_a_plain_write_is_written(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", None))
    vault.write(NOTE, "ours")
    assert vault.read(NOTE) == "ours"
    assert leftovers(root) == []


def test_a_folder_that_takes_the_note_s_place_stays_there(vault: VaultBackend, root: Path, meanwhile) -> None:
    def become_folder() -> None:
        (root / "notes" / "a.md").unlink()
        (root / "notes" / "a.md").mkdir()
        (root / "notes" / "a.md" / "inside.md").write_text("x")

    vault.write(NOTE, "seen")
    meanwhile(become_folder)
    with pytest.raises(LocatorConflictError):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert (root / "notes" / "a.md" / "inside.md").read_text() == "x"
    assert leftovers(root) == []


def test_an_online_only_version_that_arrives_in_the_middle_is_kept_without_reading_it(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    def become_placeholder() -> None:
        path = root / "notes" / "a.md"
        as_client(path, "")
        os.truncate(path, 1000)

    vault.write(NOTE, "seen")
    meanwhile(become_placeholder)
    vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["\0" * 1000]


def test_the_mode_of_the_file_survives_the_exchange(vault: VaultBackend, root: Path) -> None:
    vault.write(NOTE, "seen")
    (root / "notes" / "a.md").chmod(0o640)
    vault.write(NOTE, "ours")
    assert (root / "notes" / "a.md").stat().st_mode & 0o777 == 0o640


# ------------------------------------------------------------------------------------------------ when keeping fails


def test_what_cannot_be_kept_is_put_back_and_the_write_fails(
    vault: VaultBackend, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: FdDirectory, *args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    monkeypatch.setattr(FdDirectory, "move", fail)
    with pytest.raises(StorageIOError, match="space"):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert vault.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_what_can_neither_be_kept_nor_put_back_waits_for_the_next_writer(
    vault: VaultBackend, root: Path, meanwhile
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

    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with (
        mock.patch.object(FdDirectory, "move", fail),
        mock.patch.object(FdDirectory, "exchange", exchange_once),
        pytest.raises(StorageIOError),
    ):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert len(leftovers(root)) == 1
    VaultBackend(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


# ------------------------------------------------------------------------------------------------ a killed writer

_KILLED = """
import os, sys
from agentm_kernel import Locator
from agentm_kernel.files import atomic
from agentm_kernel.files.tree import FdDirectory
from agentm_obsidian_vault import VaultBackend

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
VaultBackend(root).write(Locator("notes/a.md"), "ours")
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
    vault: VaultBackend, root: Path, moment: str, arrives: str, note: str, versions: list[str]
) -> None:
    vault.write(NOTE, "seen")
    done = subprocess.run([sys.executable, "-c", _KILLED, str(root), moment, arrives], check=False)
    assert done.returncode == 9
    assert len(leftovers(root)) == 1
    assert vault.list(NOTE.parent) == [NOTE]
    VaultBackend(root).write(Locator("notes/b.md"), "x")
    assert vault.read(NOTE) == note
    assert kept(root) == versions
    assert leftovers(root) == []


def test_the_longest_name_has_room_for_its_swap_name(vault: VaultBackend) -> None:
    note = Locator("n" * 197 + ".md")
    vault.write(note, "one")
    vault.write(note, "two")
    assert vault.read(note) == "two"


def test_the_longest_key_has_a_place_for_its_other_versions(vault: VaultBackend, root: Path, meanwhile) -> None:
    note = Locator("/".join(["d" * 195] * 5))
    vault.write(note, "seen")
    meanwhile(lambda: as_client(root.joinpath(*note.parts), "unseen"))
    vault.write(note, "ours")
    assert kept(root) == ["unseen"]
    assert len(find_conflicts(vault)) == 1


# ------------------------------------------------------------------------------------------------ no exchange


def test_without_exchange_the_content_is_compared_once_more(
    vault: VaultBackend, root: Path, meanwhile, no_exchange
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert vault.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_without_exchange_a_plain_write_keeps_a_copy(vault: VaultBackend, root: Path, meanwhile, no_exchange) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    vault.write(NOTE, "ours")
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_without_exchange_writing_works_as_ever(vault: VaultBackend, no_exchange) -> None:
    vault.write(NOTE, "one", if_match=ABSENT)
    vault.write(NOTE, "two")
    vault.write(NOTE, "three", if_match=content_hash("two"))
    assert vault.read(NOTE) == "three"


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


def test_of_a_client_that_replaces_the_file_as_fast_as_it_can_no_version_is_lost(
    vault: VaultBackend, root: Path
) -> None:
    """Every version was displaced by the client, compared by a writer, kept, or is there at the end."""
    vault.write(NOTE, "start")
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
            text = vault.read(NOTE)
            mine = f"writer {len(acknowledged)}"
            try:
                vault.write(NOTE, mine, if_match=content_hash(text))
            except ConcurrentModificationError:
                continue
            compared.add(text)
            acknowledged.append(mine)
        reader.join()
    if client.returncode == 3:
        pytest.skip("this file system cannot exchange names")
    assert client.returncode == 0
    everything = {"start", *acknowledged, *(f"client {number}" for number in range(versions))}
    found = {*displaced, *compared, *kept(root), vault.read(NOTE)}
    assert everything - found == set()
    assert leftovers(root) == []


def test_the_plain_store_would_lose_such_a_version(root: Path, meanwhile) -> None:
    """The control: what the exchange is for."""
    store = FileStore(root)
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert not any(path.read_text() == "unseen" for path in root.rglob("*") if path.is_file())
