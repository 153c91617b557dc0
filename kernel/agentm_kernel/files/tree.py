"""Directories of a store, held open: the only place that opens, lists or changes anything inside a store
(but for the short notes that `read_short_note` reads for hooks).

A path is walked one name at a time from the open root, never following a link, so nothing that happens to the tree
meanwhile can lead a read or a write outside it. `root.open_root` opens one: a `Directory` where the platform resolves
names relative to an open directory (Linux, macOS, the BSDs), a `PathDirectory` elsewhere.

Raw `OSError`s leave this module; `FileStore` gives them their type in one place.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from agentm_kernel.errors import StorageIOError
from agentm_kernel.seam.locator import TEMP_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Self

TEMP_SUFFIX = ".tmp"

_O_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_O_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_O_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_O_BINARY = getattr(os, "O_BINARY", 0)
READ_FLAGS = os.O_RDONLY | _O_NOFOLLOW | _O_NONBLOCK | _O_BINARY
APPEND_FLAGS = os.O_RDWR | os.O_APPEND | _O_NOFOLLOW | _O_NONBLOCK | _O_BINARY
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_NOFOLLOW | _O_BINARY


NO_DIRECTORY = frozenset((errno.ENOTDIR, errno.ELOOP, errno.EMLINK))
"""What entering a file or a link fails with, by platform."""


class TooLarge(Exception):
    """A file exceeds the limit of the read; `size` is what it has."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Entries:
    """What a directory holds, by name and sorted by what it is, nothing of it followed."""

    __slots__ = ("directories", "files", "others")

    def __init__(self, found: Iterator[os.DirEntry[str]]) -> None:
        self.files: list[str] = []
        self.directories: list[str] = []
        self.others: list[str] = []
        """Links, FIFOs, devices."""
        add_file = self.files.append
        for entry in found:
            if entry.is_file(follow_symlinks=False):
                add_file(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                self.directories.append(entry.name)
            else:
                self.others.append(entry.name)


class Directory:
    """An open directory. Names given to it are single names, never paths.

    It is held by its descriptor: renaming or replacing anything above it cannot redirect us. The descriptor is closed
    with it, unless it is `lent`.
    """

    identity: tuple[int, int]
    """Its device and inode, looked up when first asked for: most are walked through."""
    is_private: bool
    """Whether only this user may look inside; looked up with the identity."""

    def __init__(self, descriptor: int, *, lent: bool = False) -> None:
        self._fd: int | None = descriptor
        self._place: int | str = descriptor
        self._lent = lent

    def __getattr__(self, name: str) -> Any:
        if name not in ("identity", "is_private"):
            raise AttributeError(name)
        status = os.stat(self._place)
        self.identity = (status.st_dev, status.st_ino)
        self.__dict__.setdefault("is_private", not status.st_mode & 0o077)
        return self.__dict__[name]

    def identity_or_close(self) -> tuple[int, int]:
        """`identity`; one that cannot be asked for it is closed, as if it had not been opened."""
        try:
            return self.identity
        except BaseException:
            self.close()
            raise

    def _at(self, name: str) -> str:
        """How the system is told a name in here, together with `_fd`."""
        return name

    # -- what the system does -------------------------------------------------------------------------------

    def enter(self, name: str) -> Directory:
        """Open the directory `name`; `OSError` when it is missing, a link or not a directory."""
        return Directory(os.open(name, os.O_RDONLY | _O_DIRECTORY | _O_NOFOLLOW, dir_fd=self._fd))

    def entries(self) -> Entries:
        with os.scandir(self._place) as found:
            return Entries(found)

    def names(self) -> list[str]:
        """The names alone, for half the price."""
        return os.listdir(self._place)

    def status(self, name: str) -> os.stat_result | None:
        """`lstat` of `name`, or `None` when there is nothing."""
        try:
            return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def statuses(self) -> dict[str, os.stat_result]:
        """`lstat` of everything that is in here, in the order of the disk. `OSError` if one of these fails."""
        with os.scandir(self._place) as found:  # thousands of names: nothing more than one call for each
            return {entry.name: entry.stat(follow_symlinks=False) for entry in found}

    def looks_free(self, name: str) -> bool:
        """Whether nothing seems to be at `name`, at the lowest price: a hint, which a failing disk may falsify."""
        return not os.access(self._at(name), os.F_OK, dir_fd=self._fd)  # no exception to build and drop, unlike stat

    def open_file(self, name: str, flags: int = READ_FLAGS) -> int:
        return os.open(self._at(name), flags, dir_fd=self._fd)

    def create_file(self, name: str, mode: int) -> int:
        return os.open(self._at(name), CREATE_FLAGS, mode, dir_fd=self._fd)

    def make_dir(self, name: str, mode: int) -> None:
        os.mkdir(self._at(name), mode, dir_fd=self._fd)

    def replace(self, source: str, target: str) -> None:
        os.replace(self._at(source), self._at(target), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def move(self, source: str, into: Directory, target: str) -> None:
        """Rename `source` to `target` in the directory `into`."""
        os.replace(self._at(source), into._at(target), src_dir_fd=self._fd, dst_dir_fd=into._fd)

    def exchange(self, first: str, second: str) -> bool:
        """Swap two names in one step; `False`, and nothing done, where the system cannot."""
        from agentm_kernel.files.exchange import exchange

        return self._fd is not None and exchange(self._fd, first, second)

    def rename_to_free(self, source: str, target: str) -> bool:
        """Rename unless the target is taken: `FileExistsError`. `False`, and nothing done, where that cannot be."""
        from agentm_kernel.files.exchange import rename_to_free

        return self._fd is not None and rename_to_free(self._fd, source, target)

    def link(self, source: str, target: str) -> None:
        os.link(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._fd)

    def remove_dir(self, name: str) -> None:
        """Remove a directory that is empty; `OSError` for any other."""
        os.rmdir(self._at(name), dir_fd=self._fd)

    def sync(self) -> None:
        """Make the names in this directory durable."""
        if self._fd is not None:  # a platform that cannot open a directory cannot sync it either
            os.fsync(self._fd)

    def times(self) -> tuple[int, int]:
        """When something in here changed last, and when the directory itself did."""
        status = os.stat(self._place)
        return status.st_mtime_ns, status.st_ctime_ns

    def mark(self) -> tuple[int, int] | None:
        """Times that no change will leave, by us or by others: a clock that files share is too coarse for that.

        `None` where they cannot be set so exactly.
        """
        now = time.time_ns()
        try:
            os.utime(self._place, ns=(now, now))
            times = self.times()
        except OSError:  # the directory is somebody else's
            return None
        return times if times[0] == now and now % 1_000_000 else None

    def close(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor is not None and descriptor >= 0 and not self._lent:
            try:
                os.close(descriptor)
            except OSError:
                pass  # it is gone all the same, and nothing was written through it

    # -- what follows from that -----------------------------------------------------------------------------

    def statuses_of(self, names: Iterable[str]) -> dict[str, os.stat_result]:
        """`status` of each of the names, without those that are gone."""
        found = {name: self.status(name) for name in names}
        return {name: status for name, status in found.items() if status is not None}

    def has(self, name: str) -> bool:
        return self.status(name) is not None

    def has_twice(self, name: str, other: str) -> bool:
        """Whether two names reach one file."""
        first, second = self.status(name), self.status(other)
        return first is not None and second is not None and os.path.samestat(first, second)

    def has_file(self, name: str) -> bool:
        status = self.status(name)
        return status is not None and stat.S_ISREG(status.st_mode)

    def read_file(self, name: str, limit: int) -> tuple[bytes, os.stat_result]:
        """The bytes of a regular file and its status. Nothing else is read: a FIFO or device could block."""
        descriptor = self.open_file(name)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise StorageIOError(f"{name!r} is not a regular file", errno=errno.EINVAL)
            if status.st_size > limit:
                raise TooLarge(status.st_size)
            data = os.read(descriptor, min(limit, status.st_size) + 1)
            while len(data) <= limit and (more := os.read(descriptor, min(limit + 1 - len(data), 65536))):
                data += more
            if len(data) > limit:
                raise TooLarge(len(data))
            return data, status
        finally:
            os.close(descriptor)

    def new_temp_name(self) -> str:
        """A name that no key can have, of one length: it never makes a legal name too long."""
        return f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"

    def sweep(self) -> list[str]:
        """Remove the temp files of killed writers, and return the names that were there before.

        Only for the holder of the store's mutex: then no temp file is in use.
        """
        names = self.names()
        for name in names:
            if name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX):
                try:
                    self.unlink(name)
                except FileNotFoundError:
                    continue
        return names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
