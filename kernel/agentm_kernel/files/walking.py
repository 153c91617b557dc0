"""Going through a whole tree: each directory is opened once, listed once, and asked for each status once."""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import NotFoundError
from agentm_kernel.files.reading import Failures, StoreReader, info_of, versions_of_files
from agentm_kernel.seam.folders import Folder, FolderWalk
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam import Info


_HELD_OPEN = 16
"""How many directories on the way down are held open: a store may be deeper than a process may open files."""


class TreeWalk(FolderWalk):
    """What `FileStore.walk` returns."""

    def __init__(self, reader: StoreReader, locator: Locator) -> None:
        self._reader, self._locator = reader, locator
        super().__init__(self._walk(), self._by_folders)

    def _walk(self) -> Iterator[Info]:
        """By entries: no directory is held open between two steps, however long the caller takes."""
        # Not by recursion: a key may have 500 parts, and a caller's stack has no room to promise for them.
        pending = self._infos_below(self._locator)
        pending.reverse()
        while pending:
            info = pending.pop()
            yield info
            if info.is_dir:
                pending += reversed(self._infos_below(info.locator))

    def _infos_below(self, locator: Locator) -> list[Info]:
        directory = self._open(locator, None)
        if directory is None:
            return []
        with directory:
            statuses = dict(sorted(self._statuses(directory, locator).items()))
        return [*map(info_of, locator.known_children(statuses), statuses.values())]

    def _by_folders(self) -> Iterator[Folder]:
        """Each is entered from the one above it."""
        try:
            top = self._reader.info(self._locator)
        except NotFoundError:
            return
        trail: list[tuple[Directory | None, list[Info]]] = [(None, [top] if top.is_dir else [])]
        try:
            while trail:
                above, pending = trail[-1]
                if pending:
                    info = pending.pop()
                    directory = self._open(info.locator, above)
                    if directory is not None:
                        yield self._enter(directory, info, trail)
                else:
                    trail.pop()
                    if above is not None:
                        above.close()
        finally:
            for held, _ in trail:
                if held is not None:
                    held.close()

    def _enter(self, directory: Directory, info: Info, trail: list[tuple[Directory | None, list[Info]]]) -> Folder:
        """What is in an open directory. Unless there is nothing below, it is the end of the trail from now on."""

        def note(name: str) -> Info:
            return info_of(info.locator.child(name), statuses[name])

        is_held = False
        try:
            statuses = self._statuses(directory, info.locator)
            versions = versions_of_files(statuses)
            below = [note(name) for name in sorted(statuses.keys() - versions.keys(), reverse=True)]
            if below:
                is_held = len(trail) <= _HELD_OPEN  # the trail begins above the first of them
                trail.append((directory if is_held else None, below))
        finally:
            if not is_held:
                directory.close()
        return Folder(info, versions, note)

    def _open(self, locator: Locator, above: Directory | None) -> Directory | None:
        """The directory at `locator`, by way of the one above it if that is open; `None` if it has gone."""
        with Failures("walk", locator, reading=True):
            try:
                if above is not None:
                    return self._reader.enter(above, locator.parts)
                return self._reader.open_directory(locator)
            except NotFoundError:
                return None

    def _statuses(self, directory: Directory, locator: Locator) -> dict[str, os.stat_result]:
        with Failures("walk", locator, reading=True):
            return self._reader.looked_at(directory, locator)


def foreign_entries(reader: StoreReader, locator: Locator) -> Iterator[str]:
    """The paths of what lies below `locator` and is no note, nor something that the medium has there for itself."""
    with Failures("walk", locator, reading=True):
        try:
            directory = reader.open_directory(locator)
        except NotFoundError:
            return
        with directory:
            kinds = directory.kinds()  # once: a note that comes between two looks would be taken for a stranger
            listed = {stored: name for name, stored in reader.listed(directory, locator, kinds).items()}
    for name in sorted(kinds):
        if name.startswith(TEMP_PREFIX):
            continue  # of ours: a temp file, or a displaced version that waits for its writers
        if name in listed:
            if kinds[name] == stat.S_IFDIR:
                yield from foreign_entries(reader, locator.child(listed[name]))
        elif not (reader.medium.is_hidden(name) or reader.medium.is_copy(name, kinds.__contains__)):
            yield os.path.join(*locator.parts, name)
