"""The operating system's exclusive lock on an open descriptor: try, wait, unlock, and who has it.

On POSIX this is `flock`, called directly. It is the lock that filelock's `lock_descriptor` takes, and a test proves
that the two exclude each other; but importing filelock costs four times a bare interpreter, in every command that
writes, and its waiting is polling. Where there is no `flock` (Windows), filelock does the work.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.errors import LockTimeout, StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

    LOCKS_DIRECTORIES = True

    def try_lock(descriptor: int) -> bool:
        """Take the lock if it is free."""
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_for_lock(descriptor: int) -> None:
        """Block until the lock is ours; the kernel serves waiters in order."""
        flock(descriptor, LOCK_EX)

    def unlock(descriptor: int) -> None:
        flock(descriptor, LOCK_UN)

except ImportError:
    import filelock

    LOCKS_DIRECTORIES = False

    def try_lock(descriptor: int) -> bool:
        return filelock.lock_descriptor(descriptor, blocking=False)

    def wait_for_lock(descriptor: int) -> None:
        filelock.lock_descriptor(descriptor, poll_interval=0.02)

    def unlock(descriptor: int) -> None:
        filelock.unlock_descriptor(descriptor)


def holder_of(identity: tuple[int, int]) -> str:
    """The process that holds the lock on a file's (device, inode), in words, as far as the system tells."""
    try:
        wanted = f"{os.major(identity[0]):02x}:{os.minor(identity[0]):02x}:{identity[1]}"
        with open("/proc/locks", encoding="ascii") as locks:
            for line in locks:
                fields = line.split()
                if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5] == wanted and int(fields[4]) > 0:
                    return f"process {fields[4]}"
    except (OSError, ValueError, AttributeError):  # no /proc, or a platform without device numbers
        pass
    return "another process"


_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05


class DirectoryLock:
    """`with DirectoryLock(folder, timeout) as lock`: alone with `folder`, or `LockTimeout`.

    Not `store_mutex`, which takes the locks of the stores around a directory too and waits in turn: whoever holds
    this one may wait for a network, and starts programs, which inherit its descriptor.

    `lock.descriptor` may be passed to a process that is started meanwhile: the lock is free only when all of those
    have ended too, however they ended. `what` names in the message what somebody else is working on.
    """

    def __init__(self, folder: str, timeout: float, *, what: str = "") -> None:
        self._folder, self._timeout, self._what = folder, timeout, what or folder
        self.descriptor, self._process = -1, os.getpid()

    def __enter__(self) -> Self:
        target = self._folder if LOCKS_DIRECTORIES else os.path.join(self._folder, "lock")
        try:
            self.descriptor = os.open(target, os.O_RDONLY if LOCKS_DIRECTORIES else os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageIOError(f"cannot lock {self._folder}: {error.strerror}", errno=error.errno) from error
        deadline, pause = time.monotonic() + self._timeout, _FIRST_PAUSE
        try:
            while not try_lock(self.descriptor):
                if time.monotonic() > deadline:
                    status = os.fstat(self.descriptor)
                    holder = holder_of((status.st_dev, status.st_ino))
                    raise LockTimeout(
                        f"{holder} has been working on {self._what} for {self._timeout:.0f} s",
                        hint="try again; if that process hangs, end it: its lock goes with it",
                    )
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.descriptor >= 0 and self._process == os.getpid():  # a forked child owns nothing of its parent's
                unlock(self.descriptor)
        finally:
            descriptor, self.descriptor = self.descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def __del__(self) -> None:
        self.__exit__()  # a signal handler raised on the way into it
