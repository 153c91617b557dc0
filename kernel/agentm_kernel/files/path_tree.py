"""Directories of a store by their paths, for platforms without descriptors of directories (Windows).

Each name is looked at before it is used. Somebody who swaps a directory for a link between the look and the use can
win here; that is the platform's limit, and the documentation says so.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from agentm_kernel.files.tree import CREATE_FLAGS, READ_FLAGS, Directory, Entries


class PathDirectory(Directory):
    """A directory by its path."""

    _REPLACE_PATIENCE = 2.0

    def __init__(self, path: str) -> None:
        self._path = path
        super().__init__(os.stat(path))

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)

    def enter(self, name: str) -> PathDirectory:
        path = self._at(name)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) or os.path.isjunction(path) if hasattr(os.path, "isjunction") else stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return PathDirectory(path)

    def entries(self) -> Entries:
        with os.scandir(self._path) as found:
            return Entries(found)

    def names(self) -> list[str]:
        return os.listdir(self._path)

    def status(self, name: str) -> os.stat_result | None:
        try:
            return os.lstat(self._at(name))
        except FileNotFoundError:
            return None

    def open_file(self, name: str, flags: int = READ_FLAGS) -> int:
        if stat.S_ISLNK(os.lstat(self._at(name)).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return os.open(self._at(name), flags)

    def create_file(self, name: str, mode: int) -> int:
        return os.open(self._at(name), CREATE_FLAGS, mode)

    def make_dir(self, name: str, mode: int) -> None:
        os.mkdir(self._at(name), mode)

    def replace(self, source: str, target: str) -> None:
        # Windows refuses while a virus scanner or a sync client has the target open; that passes.
        deadline = time.monotonic() + self._REPLACE_PATIENCE
        while True:
            try:
                os.replace(self._at(source), self._at(target))
                return
            except PermissionError:
                if os.name != "nt" or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def move(self, source: str, into: Directory, target: str) -> None:
        assert isinstance(into, PathDirectory)
        os.replace(self._at(source), into._at(target))  # noqa: SLF001

    def exchange(self, first: str, second: str) -> bool:
        return False

    def rename_to_free(self, source: str, target: str) -> bool:
        return False

    def link(self, source: str, target: str) -> None:
        os.link(self._at(source), self._at(target))

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name))

    def remove_dir(self, name: str) -> None:
        os.rmdir(self._at(name))

    def sync(self) -> None:
        """Nothing to do: a platform that cannot open a directory cannot sync it either."""

    def close(self) -> None:
        """Nothing is held open."""
