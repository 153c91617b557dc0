"""Turns the calls that pass a tap into the events of the crash model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tests.faults.crash_model import ROOT, Content, Event, Names, NewDirectory, NewFile, Sync, Tree

if TYPE_CHECKING:
    from tests.faults.syscalls import Real


class Killed(BaseException):
    """The process died here. Not an `Exception`: nothing may handle it."""


class Recorder:
    """A handler for `Tap`: lets every call through and writes down what it did to the tree below `base`."""

    _HARMLESS = frozenset(
        ("close", "fchmod", "fchown", "flock", "fstat", "lstat", "read", "readdir", "readlink", "scandir", "stat")
    )
    _DONE_BY_THE_KERNEL_ON_DEATH = frozenset(("close", "flock"))

    def __init__(self, base: str) -> None:
        self.events: list[Event] = []
        self._base = base
        self._die_at: int | None = None
        self._inodes = {_identity(os.stat(base)): ROOT}
        self._contents: dict[int, bytes] = {}
        self._last_inode = ROOT
        self._adopt(base, ROOT)

    def die_after(self, events: int) -> None:
        """Let the process die, as far as calls can tell, once so many events more were recorded."""
        self._die_at = len(self.events) + events

    def revive(self) -> None:
        """From here on calls come from another process."""
        self._die_at = None

    def __call__(self, name: str, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._is_dead() and name not in self._DONE_BY_THE_KERNEL_ON_DEATH:
            raise Killed
        if name in self._HARMLESS:
            return real(*args, **kwargs)
        record = getattr(self, f"_{name}", None)
        if record is None:
            raise NotImplementedError(f"the crash model does not know {name}()")
        result = record(real, *args, **kwargs)
        if self._is_dead():
            raise Killed
        return result

    def _is_dead(self) -> bool:
        return self._die_at is not None and len(self.events) >= self._die_at

    # -- one method per call ----------------------------------------------------------------------------------

    def _open(self, real: Real, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not flags & os.O_CREAT:
            descriptor: int = real(path, flags, mode, dir_fd=dir_fd)
            if flags & os.O_TRUNC:
                self._has_content(self._inode_of(descriptor), b"")
            return descriptor
        directory, name = self._place(path, dir_fd)
        is_new = not _is_there(path, dir_fd)
        descriptor = real(path, flags, mode, dir_fd=dir_fd)
        if is_new:
            inode = self._new_inode(os.fstat(descriptor))
            self._contents[inode] = b""
            self.events += [NewFile(inode), Names(directory, ((name, inode),))]
        return descriptor

    def _write(self, real: Real, descriptor: int, data: bytes) -> int:
        written: int = real(descriptor, data)
        inode = self._inode_of(descriptor)
        start = os.lseek(descriptor, 0, os.SEEK_CUR) - written
        old = self._contents[inode].ljust(start, b"\0")
        self._has_content(inode, old[:start] + bytes(data[:written]) + old[start + written :])
        return written

    def _fsync(self, real: Real, descriptor: int) -> None:
        real(descriptor)
        self.events.append(Sync(self._inode_of(descriptor)))

    def _mkdir(self, real: Real, path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        directory, name = self._place(path, dir_fd)
        real(path, mode, dir_fd=dir_fd)
        inode = self._new_inode(os.stat(path, dir_fd=dir_fd))
        self.events += [NewDirectory(inode), Names(directory, ((name, inode),))]

    def _replace(
        self, real: Real, source: str, target: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        inode = self._inodes[_identity(_lstat(source, src_dir_fd))]
        from_directory, old = self._place(source, src_dir_fd)
        directory, new = self._place(target, dst_dir_fd)
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        if directory == from_directory:
            self.events.append(Names(directory, ((old, None), (new, inode))))
        else:  # two directories, each safe in its own time
            self.events += [Names(directory, ((new, inode),)), Names(from_directory, ((old, None),))]

    _rename = _replace

    def _link(
        self,
        real: Real,
        source: str,
        target: str,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        inode = self._inodes[_identity(_lstat(source, src_dir_fd))]
        directory, name = self._place(target, dst_dir_fd)
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)
        self.events.append(Names(directory, ((name, inode),)))

    def _exchange(self, real: Real, directory: int, first: str, second: str) -> bool:
        inodes = [self._inodes[_identity(_lstat(name, directory))] for name in (second, first)]
        has_happened: bool = real(directory, first, second)
        if has_happened:
            self.events.append(Names(self._inode_of(directory), tuple(zip((first, second), inodes, strict=True))))
        return has_happened

    def _rename_to_free(self, real: Real, directory: int, source: str, target: str) -> bool:
        inode = self._inodes[_identity(_lstat(source, directory))]
        has_happened: bool = real(directory, source, target)
        if has_happened:
            self.events.append(Names(self._inode_of(directory), ((source, None), (target, inode))))
        return has_happened

    def _unlink(self, real: Real, path: str, *, dir_fd: int | None = None) -> None:
        directory, name = self._place(path, dir_fd)
        real(path, dir_fd=dir_fd)
        self.events.append(Names(directory, ((name, None),)))

    _remove = _unlink
    _rmdir = _unlink

    # -- inodes -------------------------------------------------------------------------------------------------

    def _adopt(self, path: str, inode: int) -> None:
        """Take what is there already for safely stored."""
        for entry in os.scandir(path):
            child = self._new_inode(entry.stat(follow_symlinks=False))
            if entry.is_dir(follow_symlinks=False):
                self.events.append(NewDirectory(child))
                self._adopt(entry.path, child)
            else:
                self.events.append(NewFile(child))
                with open(entry.path, "rb") as file:
                    self._has_content(child, file.read())
            self.events += [Sync(child), Names(inode, ((entry.name, child),))]
        self.events.append(Sync(inode))

    def _place(self, path: str, dir_fd: int | None) -> tuple[int, str]:
        """The directory that a path names something in, and the name."""
        above, name = os.path.split(path)
        status = os.stat(above or ".", dir_fd=dir_fd) if above or dir_fd is None else os.fstat(dir_fd)
        return self._inodes[_identity(status)], name

    def _inode_of(self, descriptor: int) -> int:
        return self._inodes[_identity(os.fstat(descriptor))]

    def _new_inode(self, status: os.stat_result) -> int:
        self._last_inode += 1
        self._inodes[_identity(status)] = self._last_inode  # the file system may give an old number a second life
        return self._last_inode

    def _has_content(self, inode: int, data: bytes) -> None:
        self._contents[inode] = data
        self.events.append(Content(inode, data))


def tree_on_disk(base: str) -> Tree:
    """What really lies below `base`, to compare with what the recorder believes."""
    found: list[tuple[str, bytes | None]] = []
    for folder, folders, files in os.walk(base):
        found += [(os.path.relpath(os.path.join(folder, name), base), None) for name in folders]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found.append((os.path.relpath(path, base), file.read()))
    return tuple(sorted(found))


def _is_there(path: str, dir_fd: int | None) -> bool:
    try:
        _lstat(path, dir_fd)
    except FileNotFoundError:
        return False
    return True


def _lstat(path: str, dir_fd: int | None) -> os.stat_result:
    return os.stat(path, dir_fd=dir_fd, follow_symlinks=False)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
