"""Directories of a store, held open: the only place that opens, lists or changes anything inside a store
(but for the short notes that `FileStore.read` reads at a glance, for hooks).

A path is walked one name at a time from the open root, never following a link, so nothing that happens to the tree
meanwhile can lead a read or a write outside it. Raw `OSError`s leave this module; `reading.Failures` types them.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from agentm_kernel.files import NOT_WAITING, Opened, close_quietly, read_open_file
from agentm_kernel.seam.locator import TEMP_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from agentm_kernel.files.known_names import FolderNames

Identity = tuple[int, int]
"""Device and inode: which file or directory it is, whatever its name."""

TEMP_SUFFIX = ".tmp"

_O_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
O_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
READ_FLAGS = NOT_WAITING | O_NOFOLLOW
APPEND_FLAGS = READ_FLAGS | os.O_RDWR | os.O_APPEND
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | getattr(os, "O_BINARY", 0)
CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and bool(_O_DIRECTORY and O_NOFOLLOW)
_PIECE = 1 << 20
_REPLACE_PATIENCE = 2.0
_GET_GENERATION = 0x80087601  # FS_IOC_GETVERSION in linux/fs.h

NO_DIRECTORY = frozenset((errno.ENOTDIR, errno.ELOOP, errno.EMLINK))
"""What entering a file or a link fails with, by platform."""


def identity_of(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def hash_of_open_file(descriptor: int) -> str:
    """The content hash of an open file of any size. What is no regular file is an `OSError`."""
    import hashlib  # 4 ms of OpenSSL, which readers never need

    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    digest, left = hashlib.sha256(), status.st_size
    while piece := os.read(descriptor, min(left + 1, _PIECE) if left > 0 else _PIECE):
        digest.update(piece)
        left -= len(piece)
        if not left:
            break  # as long as it says: one call less
    return digest.hexdigest()


def _kind_of(entry: os.DirEntry[str]) -> int:
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    return stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else 0


class Directory:
    """An open directory. Names given to it are single names, never paths.

    It is held by its descriptor, and closes that unless it is `lent`: replacing anything above cannot redirect us.
    """

    keeps_private = False
    """Set where a new file is for this user alone, whoever may look inside."""

    def __init__(self, place: int | str, status: os.stat_result | None = None, *, lent: bool = False) -> None:
        self._place, self._fd = place, place if isinstance(place, int) else None
        self._status, self._lent = status, lent
        self.known_names: FolderNames | None = None

    def own_status(self) -> os.stat_result:
        """Its own, as it was when somebody asked first: most directories are only walked through."""
        if self._status is None:
            self._status = os.stat(self._place)
        return self._status

    @property
    def identity(self) -> Identity:
        return identity_of(self._status or self.own_status())

    @property
    def is_private(self) -> bool:
        """Whether a new file in here is for this user alone: nobody else may look inside, or so it was said."""
        return self.keeps_private or not self.own_status().st_mode & 0o077

    def share(self, made: int | Directory) -> None:
        """Let the group have what was just made in here, whatever the umask says, if people share this folder by its
        setgid bit: it would be out of the others' reach. As with the umask, failing to is no reason not to write.
        """
        mode = self.own_status().st_mode
        if mode & stat.S_ISGID and mode & stat.S_IWGRP:
            place, may = (made._place, 0o070) if isinstance(made, Directory) else (made, 0o060)  # noqa: SLF001
            try:
                os.chmod(place, stat.S_IMODE(os.stat(place).st_mode) | mode & may)
            except OSError:
                pass

    def _at(self, name: str) -> str:
        """How the system is told a name in here, together with `_fd`."""
        return name

    def enter(self, name: str) -> Directory:
        """Open the directory `name`; `OSError` when it is missing, a link or not a directory."""
        return Directory(os.open(name, os.O_RDONLY | _O_DIRECTORY | O_NOFOLLOW, dir_fd=self._fd))

    def kinds(self) -> dict[str, int]:
        """What is in here, by name: `stat.S_IFREG`, `stat.S_IFDIR`, or 0 for links, FIFOs and devices."""
        with os.scandir(self._place) as found:
            return {entry.name: _kind_of(entry) for entry in found}

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
        if self.known_names is not None:
            return not self.known_names.may_have(name)
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
        import agentm_kernel.files.exchange as renames  # a third of what `from` costs, at every write

        return self._fd is not None and renames.exchange(self._fd, first, second)

    def rename_to_free(self, source: str, target: str) -> bool:
        """Rename unless the target is taken: `FileExistsError`. `False`, and nothing done, where that cannot be."""
        import agentm_kernel.files.exchange as renames

        return self._fd is not None and renames.rename_to_free(self._fd, source, target)

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

    def lasting_number(self, path: str) -> str:
        """What it is known by on this device, after a power cut too: a file system's own number does not change.

        A directory that is made later may get the number of one that is gone. Its generation is another one; where
        the system has none, `path`, which has no links, tells the two apart as well as it can.
        """
        from binascii import crc32

        status = self.own_status()
        try:
            number = os.statvfs(self._place).f_fsid or status.st_dev
        except AttributeError:  # Windows
            number = status.st_dev
        made = crc32(self._generation() or os.fsencode(path))
        return f"{number:x}-{status.st_ino:x}-{made:08x}"

    def _generation(self) -> bytes:
        """What Linux tells its uses of one inode apart by, on most of its file systems; else nothing."""
        try:
            from fcntl import ioctl

            return ioctl(self._place, _GET_GENERATION, bytes(8)) if isinstance(self._place, int) else b""
        except (ImportError, OSError):
            return b""

    def mark(self) -> tuple[int, int] | None:
        """Set the times of this directory to what no change will leave: the clock of files is too coarse for that.

        When something in it changed last, and when it did itself; `None` where that cannot be set so exactly.
        """
        now = time.time_ns()
        try:
            os.utime(self._place, ns=(now, now))
            status = os.stat(self._place)
        except OSError:  # the directory is somebody else's
            return None
        return (now, status.st_ctime_ns) if status.st_mtime_ns == now and now % 1_000_000 else None

    def close(self) -> None:
        descriptor, self._fd = self._fd, -1
        if not self._lent and descriptor is not None and descriptor >= 0:
            close_quietly(descriptor)

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
        with Opened(self.open_file(name)) as descriptor:
            return read_open_file(descriptor, limit)

    def hash_file(self, name: str) -> str:
        """The content hash of a regular file of any size."""
        with Opened(self.open_file(name)) as descriptor:
            return hash_of_open_file(descriptor)

    def drop(self, name: str) -> None:
        """Remove a file, if it is still there."""
        try:
            self.unlink(name)
        except FileNotFoundError:
            pass

    def new_temp_name(self) -> str:
        """A name that no key can have, of one length: it never makes a legal name too long."""
        return f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"

    def sweep(self) -> list[str]:
        """Remove the temp files of killed writers, under the mutex: none is in use. The names that were there."""
        names = self.names()
        for name in names:
            if name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX):
                self.drop(name)
        return names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PathDirectory(Directory):
    """A directory by its path, for platforms without descriptors of directories (Windows).

    Each name is looked at before it is used. Somebody who swaps a directory for a link between the look and the use
    can win here; that is the platform's limit, and the documentation says so.
    """

    def _at(self, name: str) -> str:
        return os.path.join(str(self._place), name)

    def enter(self, name: str) -> PathDirectory:
        path = self._at(name)
        is_directory = stat.S_ISDIR(os.lstat(path).st_mode)
        if not is_directory or (hasattr(os.path, "isjunction") and os.path.isjunction(path)):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return PathDirectory(path)

    def open_file(self, name: str, flags: int = READ_FLAGS) -> int:
        if stat.S_ISLNK(os.lstat(self._at(name)).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return super().open_file(name, flags)

    def replace(self, source: str, target: str) -> None:
        # Windows refuses while a virus scanner or a sync client has the target open; that passes.
        deadline = time.monotonic() + _REPLACE_PATIENCE
        while True:
            try:
                return super().replace(source, target)
            except PermissionError:
                if os.name != "nt" or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def link(self, source: str, target: str) -> None:
        os.link(self._at(source), self._at(target))


def open_root(path: str, *, follow_link: bool = True) -> Directory:
    """Open the directory `path` that the operator named: links in it are theirs and are followed, the last one too,
    unless `follow_link` says otherwise.
    """
    if CAN_WALK_BY_DESCRIPTOR:
        return Directory(os.open(path, os.O_RDONLY | _O_DIRECTORY | (0 if follow_link else O_NOFOLLOW)))
    return PathDirectory(path)


def make_root(path: str, mode: int) -> None:
    """Make the directory `path` and what is missing above it, each with this mode and durable before the next."""
    parent = os.path.dirname(path)
    try:
        with os.scandir(path) as found:
            if next(found, None) is not None:
                return
        # One that is there but empty may be new too, its maker dead before it was durable.
    except FileNotFoundError:
        make_root(parent, mode)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            pass  # another writer was faster
    with open_root(parent) as directory:
        directory.sync()


def make_private_folder(path: str) -> None:
    """Make the folder `path` and what is missing above it, for this user alone, each durable before the next.

    `os.makedirs` gives its mode to the last folder only: under a umask of 0 anybody could replace the others.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_private_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise  # a file is in the way; otherwise another writer was faster
    with open_root(parent) as directory:
        directory.sync()
