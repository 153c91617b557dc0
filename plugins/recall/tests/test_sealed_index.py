"""The index of an encrypted store: only ever sealed on the disk, written by one at a time, and rebuilt when lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentm_kernel.plugin import DirectoryLock, IntegrityError, StorageError
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.place import read_beside, seal_of, write_beside
from agentm_recall.index.sealed_database import SealedDatabase
from agentm_recall.index.sealed_place import SealedPlace


class Seal:
    """Turns every byte around, behind a mark."""

    def seal_derived(self, data: bytes) -> bytes:
        return b"sealed" + bytes(255 - byte for byte in data)

    def open_derived(self, data: bytes) -> bytes:
        if not data.startswith(b"sealed"):
            raise IntegrityError("it is not sealed by this device")
        return bytes(255 - byte for byte in data[6:])


@pytest.fixture
def place(tmp_path: Path) -> SealedPlace:
    folder = tmp_path / "index"
    folder.mkdir(mode=0o700)
    return SealedPlace.of(str(folder / "notes-3.sealed"), Seal())  # type: ignore[arg-type]


def made(place: SealedPlace) -> SealedPlace:
    with SealedDatabase.new(place, wait=0.0) as database:
        keep(database, "made", 1)
    return place


def keep(database: Database, name: str, value: float) -> None:
    database.connection.execute("INSERT INTO facts VALUES (?, ?)", (name, value))


def test_what_is_on_the_disk_is_sealed_and_for_nobody_else(place: SealedPlace) -> None:
    made(place)
    data = Path(place).read_bytes()
    assert data.startswith(b"sealed")
    assert b"SQLite" not in data
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o600
    assert read_beside(place, place).startswith(b"SQLite format 3")
    assert [name for name in os.listdir(os.path.dirname(place)) if name.endswith(".new")] == []


def test_what_was_written_is_there_when_it_is_opened_again(place: SealedPlace) -> None:
    with Database.open(made(place), read_only=False, wait=0.0) as database:
        assert database.fact("made") == 1
        keep(database, "more", 2)
    with Database.open(place, read_only=True) as database:
        assert (database.fact("made"), database.fact("more")) == (1, 2)


def test_who_only_reads_writes_nothing_and_waits_for_nobody(place: SealedPlace) -> None:
    before = Path(made(place)).read_bytes()
    with DirectoryLock(os.path.dirname(place), 0.0), Database.open(place, read_only=True) as database:
        keep(database, "more", 2)
    assert Path(place).read_bytes() == before


def test_what_did_not_change_is_not_sealed_again(place: SealedPlace) -> None:
    moment = os.stat(made(place)).st_mtime_ns - 10**9
    os.utime(place, ns=(moment, moment))
    with Database.open(place, read_only=False, wait=0.0) as database:
        assert database.fact("made") == 1
    assert os.stat(place).st_mtime_ns == moment


def test_what_fails_half_way_is_not_kept_and_keeps_nobody_out(place: SealedPlace) -> None:
    def fail() -> None:
        with Database.open(place, read_only=False, wait=0.0) as database:
            keep(database, "more", 2)
            raise KeyError

    made(place)
    with pytest.raises(KeyError):
        fail()
    with Database.open(place, read_only=False, wait=0.0) as database:
        assert database.fact("more") == 0


def test_one_writes_at_a_time(place: SealedPlace) -> None:
    with Database.open(made(place), read_only=False, wait=0.0):
        for another in (
            lambda: Database.open(place, read_only=False, wait=0.0),
            lambda: SealedDatabase.new(place, wait=0.0),
        ):
            with pytest.raises(IndexUnavailable, match="another process is updating it"):
                another()
    with SealedDatabase.new(place, wait=0.0) as database:
        assert database.fact("made") == 0


def test_an_index_that_is_not_there_cannot_be_used_and_keeps_nobody_out(place: SealedPlace) -> None:
    for read_only in (True, False):
        with pytest.raises(IndexUnavailable, match="it cannot be read: No such file") as missing:
            Database.open(place, read_only=read_only, wait=0.0)
        assert not isinstance(missing.value, IndexDamaged)
    made(place)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"plain", "it cannot be opened: it is not sealed by this device"),
        (Seal().seal_derived(b"no database" * 100), "it is damaged"),
    ],
)
def test_an_index_that_cannot_be_opened_is_damaged_and_keeps_nobody_out(
    place: SealedPlace, data: bytes, said: str
) -> None:
    for read_only in (True, False):
        Path(place).write_bytes(data)
        with pytest.raises(IndexDamaged, match=said):
            Database.open(place, read_only=read_only, wait=0.0)
    made(place)


def test_an_index_of_another_version_is_damaged(place: SealedPlace) -> None:
    with Database.open(made(place), read_only=False, wait=0.0) as database:
        keep(database, "more", 2)
        database.connection.execute("PRAGMA user_version = 99")
    for read_only in (True, False):
        with pytest.raises(IndexDamaged, match="not an index of this version"):
            Database.open(place, read_only=read_only, wait=0.0)


def test_a_disk_that_takes_nothing_is_said(place: SealedPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    made(place)
    monkeypatch.setattr("agentm_recall.index.sealed_database.write_beside", full)
    with (
        pytest.raises(IndexUnavailable, match="it cannot be written: No space left on device"),
        Database.open(place, read_only=False, wait=0.0) as database,
    ):
        keep(database, "more", 2)
    with DirectoryLock(os.path.dirname(place), 0.0):
        pass


def test_a_lock_that_cannot_be_had_is_said(place: SealedPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_lock: DirectoryLock) -> None:
        raise StorageError("the folder takes no locks")

    monkeypatch.setattr(DirectoryLock, "__enter__", broken)
    with pytest.raises(IndexUnavailable, match="the folder takes no locks"):
        SealedDatabase.new(place, wait=0.0)


def test_what_lies_beside_a_plain_index_is_not_sealed(tmp_path: Path) -> None:
    index, file = str(tmp_path / "notes-3.sqlite3"), str(tmp_path / "beside")
    assert seal_of(index) is None
    write_beside(index, file, b"plain")
    assert Path(file).read_bytes() == read_beside(index, file) == b"plain"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_what_cannot_be_put_beside_an_index_leaves_nothing_behind(
    place: SealedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(place)
    before = Path(place).read_bytes()
    monkeypatch.setattr(Seal, "seal_derived", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_beside(place, place, b"new")
    assert Path(place).read_bytes() == before
    assert [name for name in os.listdir(os.path.dirname(place)) if name.endswith(".new")] == []
