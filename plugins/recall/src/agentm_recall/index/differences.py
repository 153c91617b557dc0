"""What a store has and an index has not: by a listing of everything, or by the times of folders.

A listing is exact, and takes longer the more notes there are. So questions are answered without one. A file system
changes the time of a folder when something in it is made, replaced or removed; only folders whose time is another one
are listed. What this does not see, text that was changed inside its file, is found by the next listing; and whatever
is shown is read from the store first.

A folder that cannot be listed (another user's, say) costs what lies below it, and no more: it is said beside the
answer, and what the index knows of it stays. Not being able to list the place that was asked for is an error.
"""

from __future__ import annotations

import time

from agentm_kernel.plugin import Folder, Frozen, Locator, NotFoundError, StorageIOError, walk_folders
from agentm_recall.index.place import has_times, is_elsewhere
from agentm_recall.layout import holds_notes, is_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from agentm_kernel.plugin import Info, StorageBackend
    from agentm_recall.index.database import Database

    Progress = Callable[[str, Sequence[Info]], Iterable[Info]]

_RESTLESS, _RESTLESS_IF_COARSE = 0.1, 2.0
"""Seconds. A folder that changed this recently may change again without its time showing it."""


class Changes(Frozen):
    """What bringing it up to date took."""

    looked_at: int = 0
    indexed: int = 0
    removed: int = 0
    unreached: int = 0
    """Notes that the deadline left out."""
    unlisted: tuple[str, ...] = ()
    """Why folders could not be looked into."""


def silent(_label: str, items: Sequence[Info]) -> Iterable[Info]:
    return items


class Difference:
    """What has to be looked at again, and which folders are known then."""

    def __init__(self, hashes: dict[str, str]) -> None:
        self.stale: list[Info] = []
        self.gone: list[str] = []
        self.hashes = hashes
        """What the index knows of the notes in question."""
        self.folders: dict[str, str] = {}
        """The version of each folder that was listed."""
        self.gone_folders: list[str] = []
        self.is_whole = False
        """Whether everything was listed."""
        self.learnt: list[str] = []
        """Folders whose version was another one in the index, or none while they were too young to have one."""
        self.unlisted: dict[str, str] = {}
        """By folder: why it could not be listed. Nothing is known of what lies below it."""

    def __bool__(self) -> bool:
        return bool(self.stale or self.gone)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why folders could not be looked into."""
        return tuple(self.unlisted.values())

    def note_unlisted(self) -> None:
        """Have whoever asks next look at them again: by their own times, for those above them stay as they are."""
        self.folders |= dict.fromkeys(self.unlisted, "")

    def lost(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that are in no folder that could not be listed: if they were not seen, they are gone."""
        return [key for key in keys if not any(f"{key}/".startswith(f"{folder}/") for folder in self.unlisted)]

    @property
    def keys(self) -> list[str]:
        return [*(info.locator.key for info in self.stale), *self.gone]

    @property
    def concerned(self) -> list[str]:
        """The keys, and folders, after whose change an outline is another one."""
        return [*self.keys, *(f"{folder}/" for folder in self.learnt)]


def find_difference(database: Database, backend: StorageBackend, places: Sequence[Locator]) -> Difference:
    """Compare a listing of the places with the index; nothing is read."""
    known = database.versions(places)
    difference = Difference({key: digest for key, (_, digest) in known.items()})
    seen: set[str] = set()
    for place in places:
        for folder in _folders_below(difference, backend, place):
            _compare(difference, folder, known, seen)
    difference.note_unlisted()
    difference.gone = difference.lost(key for key in known if key not in seen)
    unseen = (key for key in database.folders(places) if key not in difference.folders)
    difference.gone_folders = difference.lost(unseen)
    difference.is_whole = any(not place.key for place in places)
    return difference


def find_changes(
    database: Database, backend: StorageBackend, places: Sequence[Locator], most: int
) -> Difference | None:
    """The same by the times of folders; `None` if folders with more than `most` notes would have to be listed."""
    folders = database.folders(places)
    if not folders or not has_times(backend):
        return find_difference(database, backend, places)
    asked = {place.key for place in places}
    unlisted: dict[str, str] = {}
    versions: dict[str, str | None] = {}
    for key in dict.fromkeys((*folders, *asked)):
        with _Unlisted(backend, key, unlisted, asked):
            versions[key] = _version(backend, key)
    changed = [key for key, version in versions.items() if version is not None and version != folders.get(key)]
    lost = [key for key, version in versions.items() if version is None and key in folders]
    if database.count(changed) > most:
        return None
    known = database.versions_in((*changed, *lost))
    difference = Difference({key: digest for key, (_, digest) in known.items()})
    difference.unlisted = unlisted
    seen: set[str] = set()
    for key in changed:
        with _Unlisted(backend, key, unlisted, asked):
            _list(difference, backend, key, folders, known, seen)
    difference.note_unlisted()
    difference.gone = difference.lost(key for key in known if key not in seen)
    difference.gone_folders = [key for key in lost if key not in difference.folders]  # some come back meanwhile
    for key in database.unsettled(places):
        if key not in known and key not in seen:
            _look_at(difference, backend, key)
    return difference


def compare_notes(database: Database, backend: StorageBackend, keys: Iterable[str]) -> Difference:
    """Which of these notes are not what the index knows."""
    known = database.versions_of(keys)
    difference = Difference({key: digest for key, (_, digest) in known.items()})
    for key, (version, _) in known.items():
        if version:
            _look_at(difference, backend, key, version)
        elif not backend.exists(Locator(key)):  # one that has just been read is looked at again by the next question
            difference.gone.append(key)
    return difference


class _Unlisted:
    """Looking at a folder; that it cannot be listed is noted, unless it was asked for or is not on this device."""

    def __init__(
        self, backend: StorageBackend, key: str, unlisted: dict[str, str], asked: Container[str] = ()
    ) -> None:
        self._backend, self._key, self._unlisted, self._asked = backend, key, unlisted, asked

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, StorageIOError) or self._key in self._asked or is_elsewhere(self._backend):
            return False
        self._unlisted[self._key] = error.message
        return True


def _folders_below(difference: Difference, backend: StorageBackend, place: Locator) -> Iterator[Folder]:
    """`walk_folders`. A walk ends where it fails: then each folder is tried by itself, those once more that came.

    What lies directly in a folder is looked at here then: not every walk had told of it before it failed.
    """
    try:
        yield from walk_folders(backend, place)
        return
    except StorageIOError:
        if is_elsewhere(backend):
            raise
    top = _info(backend, place)
    found: list[Info] = []
    for child in backend.list(place):
        with _Unlisted(backend, child.key, difference.unlisted):
            if (info := _info(backend, child)) is not None:
                found.append(info)
    if top is not None:
        notes = {info.locator.name: info for info in found if not info.is_dir}
        yield Folder(top, {name: info.version for name, info in notes.items()}, notes.__getitem__)
    for info in found:
        if info.is_dir:
            with _Unlisted(backend, info.locator.key, difference.unlisted):
                yield from _folders_below(difference, backend, info.locator)


def _compare(difference: Difference, folder: Folder, known: dict[str, tuple[str, str]], seen: set[str]) -> None:
    place = folder.info.locator.key
    if not holds_notes(place) or place in difference.folders:
        return
    difference.folders[place] = _settled(folder.info)
    prefix = f"{place}/" if place else ""
    for name, version in folder.versions.items():
        key = prefix + name
        if name.endswith(".md") and is_note(key):
            seen.add(key)
            if not version or known.get(key, ("",))[0] != version:
                difference.stale.append(folder.note(name))


def _list(
    difference: Difference,
    backend: StorageBackend,
    key: str,
    folders: dict[str, str],
    known: dict[str, tuple[str, str]],
    seen: set[str],
) -> None:
    """One folder; of what lies below it only folders that nobody knew."""
    prefix = f"{key}/" if key else ""
    if not any(other.startswith(prefix) and other != key for other in folders):
        for folder in _folders_below(difference, backend, Locator(key)):
            _compare(difference, folder, known, seen)
        return
    try:
        difference.folders[key] = _settled(backend.info(Locator(key)))
    except NotFoundError:
        return
    for child in backend.list(Locator(key)):
        if child.key in folders or not (is_note(child.key) or holds_notes(child.key)):
            continue
        try:
            info = backend.info(child)
        except NotFoundError:
            continue
        if info.is_dir:
            with _Unlisted(backend, child.key, difference.unlisted):
                for folder in _folders_below(difference, backend, child):
                    _compare(difference, folder, known, seen)
        elif is_note(child.key):
            seen.add(child.key)
            if known.get(child.key, ("",))[0] != info.version:
                difference.stale.append(info)


def _look_at(difference: Difference, backend: StorageBackend, key: str, version: str = "") -> None:
    try:
        info = backend.info(Locator(key))
        if not version or info.version != version:
            difference.stale.append(info)
    except NotFoundError:
        difference.gone.append(key)


def _version(backend: StorageBackend, key: str) -> str | None:
    """The version of a folder now, `None` if it is not there."""
    info = _info(backend, Locator(key))
    return info.version if info is not None and info.is_dir else None


def _info(backend: StorageBackend, locator: Locator) -> Info | None:
    try:
        return backend.info(locator)
    except NotFoundError:
        return None


def _settled(info: Info) -> str:
    """The version of a folder, unless it may change again without another one: then none, so that it is listed."""
    restless = _RESTLESS_IF_COARSE if info.mtime.is_integer() else _RESTLESS
    return info.version if abs(time.time() - info.mtime) > restless else ""
