"""The operating system's exclusive lock on an open descriptor: try, wait, unlock, and who has it.

On POSIX this is `flock`, called directly. It is the lock that filelock's `lock_descriptor` takes, and a test proves
that the two exclude each other; but importing filelock costs four times a bare interpreter, in every command that
writes, and its waiting is polling. Where there is no `flock` (Windows), filelock does the work.
"""

from __future__ import annotations

import os

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
