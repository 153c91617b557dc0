"""The root directory of a tree: opened as the platform allows, and made where it is missing."""

from __future__ import annotations

import errno
import os
import stat
import time

from agentm_kernel.files.tree import READ_FLAGS, Directory

CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")


def open_root(path: str, *, follow_link: bool = True) -> Directory:
    """Open the directory `path` that the operator named: links in it are theirs and are followed.

    `follow_link`: whether the last name of the path may be a link too.
    """
    if CAN_WALK_BY_DESCRIPTOR:
        return Directory(os.open(path, os.O_RDONLY | os.O_DIRECTORY | (0 if follow_link else os.O_NOFOLLOW)))
    return PathDirectory(path)


def make_root(path: str, mode: int) -> None:
    """Make the directory `path` and what is missing above it, each durable before the next.

    One that is there but empty may be new too, its maker dead before it was durable.
    """
    parent = os.path.dirname(path)
    try:
        if not _is_empty(path):
            return
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


def _is_empty(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is None


class PathDirectory(Directory):
    """A directory by its path, for platforms without descriptors of directories (Windows).

    Each name is looked at before it is used. Somebody who swaps a directory for a link between the look and the use
    can win here; that is the platform's limit, and the documentation says so.
    """

    _REPLACE_PATIENCE = 2.0

    def __init__(self, path: str) -> None:
        self._fd, self._lent = None, True
        self._place = self._path = path

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)

    def enter(self, name: str) -> PathDirectory:
        path = self._at(name)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) or (hasattr(os.path, "isjunction") and os.path.isjunction(path)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return PathDirectory(path)

    def open_file(self, name: str, flags: int = READ_FLAGS) -> int:
        if stat.S_ISLNK(os.lstat(self._at(name)).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return super().open_file(name, flags)

    def replace(self, source: str, target: str) -> None:
        # Windows refuses while a virus scanner or a sync client has the target open; that passes.
        deadline = time.monotonic() + self._REPLACE_PATIENCE
        while True:
            try:
                return super().replace(source, target)
            except PermissionError:
                if os.name != "nt" or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def link(self, source: str, target: str) -> None:
        os.link(self._at(source), self._at(target))

    def close(self) -> None:
        """Nothing is held open."""
