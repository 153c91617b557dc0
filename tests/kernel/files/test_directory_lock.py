"""A lock on one directory that the programs started under it keep until the last of them has ended."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import native_lock
from agentm_kernel.plugin import DirectoryLock, LockTimeout, StorageIOError

if TYPE_CHECKING:
    from pathlib import Path


def test_one_at_a_time_and_free_again_afterwards(tmp_path: Path) -> None:
    with DirectoryLock(str(tmp_path), 1.0), pytest.raises(LockTimeout, match="working on the clone for 0 s"):
        DirectoryLock(str(tmp_path), 0.05, what="the clone").__enter__()
    with DirectoryLock(str(tmp_path), 0.05) as lock:
        assert lock.descriptor >= 0
    assert lock.descriptor == -1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be listed")
def test_whoever_waited_in_vain_keeps_nothing_open(tmp_path: Path) -> None:
    def opened() -> list[str]:
        return [to for fd in os.listdir("/proc/self/fd") if (to := _target(fd)) == str(tmp_path)]

    with DirectoryLock(str(tmp_path), 1.0):
        before = opened()
        with pytest.raises(LockTimeout):
            DirectoryLock(str(tmp_path), 0.05).__enter__()
        assert opened() == before
    assert opened() == []


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""  # the one by which the others were listed


def test_whoever_waits_looks_again_soon_and_then_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, pauses = iter([False] * 20 + [True]), list[float]()
    monkeypatch.setattr(native_lock, "try_lock", lambda _: next(looks))
    monkeypatch.setattr(native_lock.time, "sleep", pauses.append)
    with DirectoryLock(str(tmp_path), 60.0):
        pass
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.002, 0.05)


def test_a_folder_that_is_not_there_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StorageIOError, match="cannot lock") as caught:
        DirectoryLock(str(tmp_path / "absent"), 1.0).__enter__()
    assert caught.value.errno == errno.ENOENT


@pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")
def test_a_program_that_was_started_under_it_is_waited_for_when_its_starter_was_killed(tmp_path: Path) -> None:
    starter = (
        "import os, subprocess, sys\n"
        "from agentm_kernel.plugin import DirectoryLock\n"
        "with DirectoryLock(sys.argv[1], 1.0) as lock:\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=0, pass_fds=[lock.descriptor])\n"
        "    print('ready', flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        process.wait()
        with pytest.raises(LockTimeout):
            DirectoryLock(str(tmp_path), 0.1).__enter__()
        process.stdin.close()  # the child ends
        with DirectoryLock(str(tmp_path), 10.0):
            pass


def test_a_copy_of_the_descriptor_does_not_keep_the_lock_of_one_who_has_left(tmp_path: Path) -> None:
    with DirectoryLock(str(tmp_path), 0.0) as lock:
        copy = os.dup(lock.descriptor)
    try:
        with DirectoryLock(str(tmp_path), 0.0):
            pass
    finally:
        os.close(copy)
