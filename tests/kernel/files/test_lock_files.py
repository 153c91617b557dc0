"""Where a directory cannot be locked: a file of this user's state is, for every path to the store."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import native_lock
from agentm_kernel.plugin import LockTimeout, store_mutex

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    root.mkdir()
    return root


def is_free(lock: Path) -> bool:
    """Whether another process could have it now: a descriptor of our own is as foreign to the kernel as theirs."""
    descriptor = os.open(lock, os.O_RDONLY)
    try:
        return native_lock.try_lock(descriptor)
    finally:
        os.close(descriptor)


@pytest.fixture
def lock_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As on a platform that cannot lock a directory."""
    monkeypatch.setattr(native_lock, "LOCKS_DIRECTORIES", False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentm" / "locks"


def test_without_directory_locks_a_file_of_the_user_s_state_is_locked(store: Path, lock_files: Path) -> None:
    with store_mutex(store):
        (lock,) = lock_files.iterdir()
        assert not is_free(lock)
        assert list(store.iterdir()) == []
    assert is_free(lock)
    assert lock.exists(), "deleting a lock file lets a second holder in"
    assert not lock.stat().st_mode & 0o077


def test_the_lock_file_is_named_after_the_directory_and_not_after_its_path(store: Path, lock_files: Path) -> None:
    (store.parent / "link").symlink_to(store)
    with store_mutex(store):
        caught = []

        def intrude() -> None:
            try:
                with store_mutex(store.parent / "link", timeout=0.1):
                    pass
            except LockTimeout as error:
                caught.append(error)

        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join(30)
    assert len(list(lock_files.iterdir())) == 1
    assert len(caught) == 1
