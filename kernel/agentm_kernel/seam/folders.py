"""A walk folder by folder: what an index or a checkpoint compares with the last time."""

from __future__ import annotations

from agentm_kernel.seam import Frozen, Info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator


class Folder(Frozen):
    """One directory, and the version of each note that lies directly in it, by name, in any order."""

    info: Info
    versions: dict[str, str]
    note: Callable[[str], Info]  # what the walk knows about one of the notes, by its name


class FolderWalk:
    """A walk that can also go folder by folder: ten thousand notes cost little more then than ten thousand statuses.

    It is the walk that can, not the store: so a layer that changes what a walk shows changes what `walk_folders`
    sees, and need not know that it exists.
    """

    def __init__(self, infos: Iterator[Info], folders: Callable[[], Iterator[Folder]]) -> None:
        self._infos = infos
        self.folders = folders  # the directory that the walk began at and those below it, parents before children

    def __iter__(self) -> Iterator[Info]:
        return self._infos  # a loop then goes through the generator itself

    def __next__(self) -> Info:
        return next(self._infos)


def walk_folders(backend: StorageBackend, locator: Locator) -> Iterator[Folder]:
    """The directory at `locator` and every one below it; nothing if there is none."""
    walk = backend.walk(locator)
    return walk.folders() if isinstance(walk, FolderWalk) else _grouped(backend, locator, walk)


def _grouped(backend: StorageBackend, locator: Locator, walk: Iterator[Info]) -> Iterator[Folder]:
    if not backend.exists(locator) or not (top := backend.info(locator)).is_dir:
        return
    notes: dict[Locator, dict[str, Info]] = {locator: {}}
    folders = [top]
    for info in walk:
        if info.is_dir:
            folders.append(info)
            notes[info.locator] = {}
        else:
            notes[info.locator.parent][info.locator.name] = info
    for folder in folders:
        infos = notes[folder.locator]
        yield Folder(folder, {name: info.version or "" for name, info in infos.items()}, infos.__getitem__)
