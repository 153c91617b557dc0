"""A version that somebody else puts under a note's name in the middle of our write is never lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from tests.faults.wrong_moment import as_client
from tests.kernel.files.shared_store import (
    ARRIVALS,
    NOTE,
    Shared,
    happens_before_rename,
    kept,
    leftovers,
    when_looked_at,
)

from agentm_kernel import update
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import ABSENT, ConcurrentModificationError, FileStore, LocatorConflictError, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(root: Path) -> Shared:
    return Shared(root)


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Directory, "exchange", lambda self, first, second: False)


# ------------------------------------------------------------------------------------------------ in the middle


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
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(path, "unseen"))
    when_looked_at(monkeypatch, lambda: as_client(path, "later"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "later"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_a_version_that_arrives_and_is_deleted_with_ours_gets_its_name_back(
    store: Shared, root: Path, meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    store.write(NOTE, "seen")
    meanwhile(lambda: as_client(path, "unseen"))
    when_looked_at(monkeypatch, path.unlink)
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
def test_a_plain_store_refuses_a_version_that_arrives_in_the_middle(
    root: Path, meanwhile, arrive: Callable[[Path, str], None]
) -> None:
    store = FileStore(root)
    store.write(NOTE, "seen")
    meanwhile(lambda: arrive(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError, match="another program"):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert leftovers(root) == []


def test_a_plain_store_refuses_too_when_it_arrives_after_the_last_look(root: Path, monkeypatch) -> None:
    store = FileStore(root)
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "ours", if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
