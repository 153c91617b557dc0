"""Whether a program still has a file open for writing, as far as the system tells.

Linux gives a read lease on a file only while nobody has it open for writing, whichever user that is. While the lease
lasts, a program that wants to open the file for writing waits. Other systems, many network mounts and files of other
users give none: then nobody knows.
"""

from __future__ import annotations

import errno
import os

from agentm_kernel.files import Opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory

try:
    import fcntl
    from signal import SIGURG

    _CAN_LEASE = hasattr(fcntl, "F_SETLEASE")
except ImportError:
    _CAN_LEASE = False

_gives_leases: dict[int, bool] = {}
"""By the number of a device: whether its file system gives leases on files that nobody writes."""


class Lease:
    """An open file of a directory, under a lease if there is one to be had: `is_unwritten` tells.

    `True`: nobody has the file open for writing, and nobody can before this lease ends. `False`: somebody has.
    `None`: the system does not tell.
    """

    __slots__ = ("descriptor", "is_unwritten")

    def __init__(self, directory: Directory, name: str) -> None:
        self.descriptor = directory.open_file(name)
        try:
            self.is_unwritten = _take(self.descriptor)
            if self.is_unwritten is False and not _is_worth_believing(directory):
                self.is_unwritten = None
        except BaseException:
            os.close(self.descriptor)
            raise

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_unwritten:
            # Explicitly: a child that was forked meanwhile has a copy of the descriptor, and would keep the lease.
            fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(self.descriptor)


def _take(descriptor: int) -> bool | None:
    if not _CAN_LEASE:
        return None
    try:
        # Who breaks a lease makes the system signal its holder. SIGIO, the usual one, would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


def _is_worth_believing(directory: Directory) -> bool:
    """Whether "somebody writes" means that. Some network mounts say so of every file, also of one just made."""
    device = directory.identity[0]
    if device not in _gives_leases:
        name = directory.new_temp_name()
        os.close(directory.create_file(name, 0o600))
        try:
            with Opened(directory.open_file(name)) as descriptor:
                _gives_leases[device] = bool(_take(descriptor))
        finally:
            directory.unlink(name)
    return _gives_leases[device]
