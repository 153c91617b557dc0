"""Others on the other side: processes that hold a store's lock, and what happens in the middle of a write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.faults.wrong_moment import in_the_middle_of_a_write

from agentm_kernel.plugin import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_HOLD = """
import sys
from agentm_kernel.plugin import store_mutex
with store_mutex(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


class Holder:
    """Another process, inside the mutex of `root` from construction until it is told otherwise."""

    def __init__(self, root: str | os.PathLike[str], code: str = _HOLD) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, os.fspath(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        assert self.line() == "held"

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def release(self) -> None:
        self.tell()
        assert self.line() == "released"

    def tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def hold() -> Iterator[Callable[..., Holder]]:
    """Start holders; all of them are ended with the test."""
    started: list[Holder] = []

    def start(root: str | os.PathLike[str], code: str = _HOLD) -> Holder:
        started.append(Holder(root, code))
        return started[-1]

    yield start
    for holder in started:
        holder.end()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def store(root: Path) -> FileStore:
    return FileStore(root)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen once, at the worst moment of the next write."""
    return partial(in_the_middle_of_a_write, monkeypatch)
