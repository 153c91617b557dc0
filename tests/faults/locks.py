"""The lock under test, the witness that says who is inside, and imitations of locks that fail.

The imitations are the controls of the campaigns about locking: each is what a careful programmer writes who has not
met the one hazard that its campaign is about.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Self

from agentm_kernel.plugin import LockTimeout, store_mutex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType

    Lock = Callable[[str, float], AbstractContextManager[object]]
    """Of a store's root and the seconds to wait at most; raises `LockTimeout`."""


def our_lock(root: str, timeout: float) -> AbstractContextManager[object]:
    return store_mutex(root, timeout=timeout)


class NotAlone(Exception):
    """Somebody else is inside, or was let in meanwhile."""


@contextmanager
def alone(root: str) -> Iterator[None]:
    """Be inside the critical section of `root`, and notice anybody else who is."""
    witness = os.path.join(root, "witness")
    mine = f"{os.getpid()}.{threading.get_ident()}"
    try:
        descriptor = os.open(witness, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise NotAlone(f"{mine} found somebody inside") from None
    os.write(descriptor, mine.encode())
    os.close(descriptor)
    yield
    with open(witness) as found:
        if found.read() != mine:
            raise NotAlone(f"{mine} was inside, and now somebody else is")
    os.unlink(witness)


# ------------------------------------------------------------------------------------------------ imitations


class HeartbeatLock:
    """A lock directory whose holder touches it now and then, and which a waiter takes over when it looks old."""

    BEAT, STALE = 0.05, 0.3

    def __init__(self, root: str, timeout: float) -> None:
        self._path = os.path.join(root, "lock")
        self._timeout = timeout
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._timeout
        while True:
            with suppress(FileExistsError):
                os.mkdir(self._path)
                break
            with suppress(FileNotFoundError):
                if time.time() - os.stat(self._path).st_mtime > self.STALE:
                    os.rmdir(self._path)
                    continue
            if time.monotonic() > deadline:
                raise LockTimeout("held by another")
            time.sleep(0.01)
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def _beat(self) -> None:
        while not self._stop.wait(self.BEAT):
            with suppress(FileNotFoundError):
                os.utime(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        with suppress(FileNotFoundError):
            os.rmdir(self._path)


@contextmanager
def no_lock(root: str, timeout: float) -> Iterator[None]:
    yield


@contextmanager
def flock_without_owner(root: str, timeout: float) -> Iterator[None]:
    """The kernel's lock, released by whoever leaves the block: after a fork, that is the child."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        _flock(descriptor, timeout)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def flock_freed_by_signals(root: str, timeout: float) -> Iterator[None]:
    """Releases on SIGTERM and passes the signal on to the application, which may well carry on."""
    descriptor = os.open(root, os.O_RDONLY)
    previous = signal.getsignal(signal.SIGTERM)

    def clean_up(number: int, frame: FrameType | None) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        if callable(previous):
            previous(number, frame)

    try:
        _flock(descriptor, timeout)
        signal.signal(signal.SIGTERM, clean_up)
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
        os.close(descriptor)


def _flock(descriptor: int, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LockTimeout("held by another") from None
        time.sleep(0.001)
