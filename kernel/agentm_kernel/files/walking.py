"""Going through a whole tree: each directory is opened once, listed once, and asked for each status once."""

from __future__ import annotations

import stat

from agentm_kernel.errors import NotFoundError
from agentm_kernel.files.failures import Failures
from agentm_kernel.files.reading import info_of, version_of
from agentm_kernel.seam.folders import Folder, FolderWalk

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from agentm_kernel.files.reading import StoreReader
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.values import Info


class TreeWalk(FolderWalk):
    """What `FileStore.walk` returns. No directory is held open between two steps, however long the caller takes."""

    def __init__(self, reader: StoreReader, locator: Locator) -> None:
        self._reader = reader
        self._locator = locator
        self._infos = self._walk()

    def __iter__(self) -> Iterator[Info]:
        return self._infos  # a loop then goes through the generator itself

    def __next__(self) -> Info:
        return next(self._infos)

    def _walk(self) -> Iterator[Info]:
        # Not by recursion: a key may have 500 parts, and a caller's stack has no room to promise for them.
        pending = self._infos_below(self._locator)
        pending.reverse()
        while pending:
            info = pending.pop()
            yield info
            if info.is_dir:
                pending += reversed(self._infos_below(info.locator))

    def _infos_below(self, locator: Locator) -> list[Info]:
        found = self._statuses(locator)
        return [info_of(*known) for known in zip(locator.known_children(found), found.values(), strict=True)]

    def folders(self) -> Iterator[Folder]:
        with Failures("walk", self._locator, reading=True):
            try:
                pending = [self._reader.info(self._locator)]
            except NotFoundError:
                return
        while pending:
            info = pending.pop()
            if info.is_dir:
                folder, below = self._folder(info)
                yield folder
                pending += reversed(below)

    def _folder(self, info: Info) -> tuple[Folder, list[Info]]:
        versions = {}
        directories = []
        statuses = self._statuses(info.locator)
        for name, status in statuses.items():
            if stat.S_ISDIR(status[0]):
                directories.append(info_of(info.locator.child(name), status))
            else:
                versions[name] = version_of(status)
        return Folder(info, versions, lambda name: info_of(info.locator.child(name), statuses[name])), directories

    def _statuses(self, locator: Locator) -> dict[str, os.stat_result]:
        """What is in the directory at `locator`, sorted by name; what vanishes meanwhile is left out."""
        with Failures("walk", locator, reading=True):
            try:
                directory = self._reader.open_directory(locator)
            except NotFoundError:
                return {}
            with directory:
                listed = self._reader.listed(directory, locator)
                statuses = zip(listed, directory.statuses(listed.values()), strict=True)
                return {name: status for name, status in statuses if status is not None}
