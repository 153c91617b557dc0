"""Whom files belong to from their first moment on, also those that exist for a moment only."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel import Locator
from agentm_kernel.files import displaced, native_lock
from agentm_kernel.plugin import DirectoryLock, FileStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes")

NOTE = Locator("notes/a.md")


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """The widest: it takes nothing away from what is asked for."""
    previous = os.umask(0)
    yield
    os.umask(previous)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The modes of all files that this process makes, as it asks for them."""
    modes: list[int] = []
    real = os.open

    def spy(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            modes.append(mode)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", spy)
    return modes


def modes_below(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}


def test_in_a_private_store_every_file_is_made_private(tmp_path: Path, asked_for: list[int]) -> None:
    store = FileStore(tmp_path / "store", create_root=True, private=True)
    store.write(NOTE, "one\n")
    store.write(NOTE, "two\n")
    store.append(NOTE, "three\n")
    assert {*asked_for} == {0o600}


@pytest.mark.parametrize(
    ("mode", "folder", "note"),
    [
        pytest.param(0o2770, 0o2770, 0o660, id="people of a group share it"),
        pytest.param(0o2775, 0o2770, 0o660, id="others only look"),
        pytest.param(0o2755, 0o2700, 0o600, id="the group may not write"),
        pytest.param(0o770, 0o700, 0o600, id="no setgid bit"),
    ],
)
def test_what_is_new_in_a_folder_that_a_group_shares_is_the_groups_whatever_the_umask(
    store: FileStore, root: Path, mode: int, folder: int, note: int
) -> None:
    root.chmod(mode)
    os.umask(0o077)
    store.write(NOTE, "one\n")
    store.mkdir(Locator("made/deep"))
    store.write(NOTE, "two\n")
    made = modes_below(root)
    assert (made["notes"], made["made"], made["deep"], made["a.md"]) == (folder, folder, folder, note)
    store.append(NOTE, "three\n")
    assert modes_below(root)["a.md"] == note


def test_a_private_store_shares_nothing_and_a_system_that_does_not_let_us_share_gets_the_note(
    tmp_path: Path, store: FileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = FileStore(tmp_path / "mine", create_root=True, private=True)
    mine.check_usable(read_only=False)
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine").chmod(0o2770)
    mine.write(NOTE, "one\n")
    assert modes_below(tmp_path / "mine")["a.md"] == 0o600
    assert modes_below(tmp_path / "mine")["notes"] & 0o777 == 0o700

    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    root.chmod(0o2770)
    os.umask(0o077)
    monkeypatch.setattr(os, "chmod", refuses)
    store.write(NOTE, "one\n")
    assert store.read(NOTE) == "one\n"


def test_the_new_version_of_a_note_is_private_until_it_has_the_mode_of_the_old_one(
    store: FileStore, root: Path, asked_for: list[int]
) -> None:
    store.write(NOTE, "one\n")
    (root / NOTE.key).chmod(0o604)
    asked_for.clear()
    store.write(NOTE, "two\n")
    assert asked_for == [0o600]
    assert modes_below(root)["a.md"] == 0o604


def test_the_file_that_asks_for_a_lease_is_private(
    store: FileStore, root: Path, asked_for: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(displaced, "_gives_leases", {})
    store.write(NOTE, "one\n")
    asked_for.clear()
    with (root / NOTE.key).open("a"):  # somebody has it open for writing, if the system is to be believed
        store.write(NOTE, "two\n")
    assert {*asked_for} == {0o600}
    assert len(asked_for) == (2 if displaced._CAN_LEASE else 1)


def test_a_shared_store_asks_for_no_less_than_other_programs_do(store: FileStore, root: Path) -> None:
    root.chmod(0o777)
    store.write(NOTE, "one\n")
    assert modes_below(root) == {"notes": 0o777, "a.md": 0o666}


@pytest.mark.parametrize(("is_private", "mode"), [(True, 0o700), (False, 0o777)])
def test_the_place_of_a_store_is_as_private_as_the_store(tmp_path: Path, is_private: bool, mode: int) -> None:
    FileStore(tmp_path / "store", private=is_private).make_place()
    assert modes_below(tmp_path)["store"] == mode


def test_the_record_of_an_append_is_private_like_the_folders_above_it(store: FileStore, state: Path) -> None:
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    modes = modes_below(state)
    assert (modes.pop("agentm"), modes.pop("appends")) == (0o700, 0o700)
    assert [*modes.values()] == [0o600]


def test_where_directories_cannot_be_locked_the_lock_s_file_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_lock, "LOCKS_DIRECTORIES", False)
    with DirectoryLock(str(tmp_path), 1.0):
        assert modes_below(tmp_path) == {"lock": 0o600}
