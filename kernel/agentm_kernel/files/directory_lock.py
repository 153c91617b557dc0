"""A lock of the operating system on one directory, for programs that a plugin starts: they inherit its descriptor.

Not `store_mutex`, which takes the locks of the stores around a directory too and waits in turn: whoever holds this
one may wait for a network.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.errors import LockTimeout, StorageIOError
from agentm_kernel.files import native_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05


class DirectoryLock:
    """`with DirectoryLock(folder, timeout) as lock`: alone with `folder`, or `LockTimeout`.

    `lock.descriptor` may be passed to a process that is started meanwhile: the lock is free only when all of those
    have ended too, however they ended. `what` names in the message what somebody else is working on.
    """

    def __init__(self, folder: str, timeout: float, *, what: str = "") -> None:
        self._folder = folder
        self._timeout = timeout
        self._what = what or folder
        self.descriptor = -1

    def __enter__(self) -> Self:
        can_lock_folder = native_lock.LOCKS_DIRECTORIES
        target = self._folder if can_lock_folder else os.path.join(self._folder, "lock")
        flags = os.O_RDONLY if can_lock_folder else os.O_RDWR | os.O_CREAT
        try:
            self.descriptor = os.open(target, flags, 0o600)
        except OSError as error:
            raise StorageIOError(f"cannot lock {self._folder}: {error.strerror}", errno=error.errno) from error
        try:
            self._wait()
        except BaseException:
            self._close()
            raise
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + self._timeout
        pause = _FIRST_PAUSE
        while not native_lock.try_lock(self.descriptor):
            if time.monotonic() > deadline:
                status = os.fstat(self.descriptor)
                holder = native_lock.holder_of((status.st_dev, status.st_ino))
                raise LockTimeout(
                    f"{holder} has been working on {self._what} for {self._timeout:.0f} s",
                    hint="try again; if that process hangs, end it: its lock goes with it",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            try:
                native_lock.unlock(descriptor)
            finally:
                os.close(descriptor)
