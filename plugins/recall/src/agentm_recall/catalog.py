"""Which notes there are, or can be shown: from the index, and from the store what the index does not know.

The index is opened read-only and never built here. What is read from the store is read while the time allows. Session
start comes this way, so nothing here imports more than it must.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.plugin import AgentmError, Locator, NotFoundError
from agentm_recall.note import Note, parse_note
from agentm_recall.reach import is_elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import Info, StorageBackend
    from agentm_recall.index.database import Database
    from agentm_recall.index.outlines import Outline

_KEPT = 65_536
"""Characters of a body that are kept while others are read; no recall shows more of one note."""


_TO_LOOK_UP = 0.5
"""Seconds beyond the deadline for reading the notes that were chosen. Then the hook answers with what it has."""


class Catalog:
    """The notes below some folders, and what could not be learned about them.

    A note of the catalog may be an outline, good for choosing; `look_up` has the whole of it.
    """

    def __init__(self, backend: StorageBackend, deadline: float = float("inf")) -> None:
        self.notes: list[Note] = []
        self.problems: list[tuple[str, str]] = []
        """Keys of notes and folders that cannot be read, each with the reason."""
        self.unreached = 0
        """Notes that there was no time to look at."""
        self.more = self.superseded = self.deleted = 0
        """Notes that are not among `notes`: current ones, and dead ones."""
        self.notices: list[str] = []
        self.backend = backend
        self._deadline = deadline
        self._elsewhere: bool | None = None
        self._sizes: dict[str, int] = {}
        self._folders: dict[str, Locator] = {}
        self._read: dict[str, tuple[Note, str]] = {}

    @classmethod
    def until(cls, backend: StorageBackend, deadline: float) -> Catalog:
        """An empty one; what is chosen can be read for a moment beyond the deadline."""
        return cls(backend, deadline + _TO_LOOK_UP)

    def size(self, note: Note) -> int:
        """About how many characters the note has; 0 if that is not known."""
        return self._sizes.get(note.key, 0)

    def look_up(self, key: str) -> tuple[Note, str] | None:
        """A note and its text, from the store: a damaged index may hide a note but never invent one.

        `None` if it has vanished, or cannot be read, or there is no time left: then it is accounted for.
        """
        if key not in self._read and not self._is_elsewhere():
            if time.monotonic() > self._deadline:
                self.unreached += 1
            else:
                self._read_from_store(key)
        return self._read.get(key)

    def _is_elsewhere(self) -> bool:
        if self._elsewhere is None:
            self._elsewhere = is_elsewhere(self.backend)
        return self._elsewhere

    def _read_from_store(self, key: str) -> Note | None:
        try:
            note, body = parse_note(key, self.backend.read(self._locator(key)))
        except NotFoundError:
            return None
        except AgentmError as error:
            self.problems.append((key, error.message))
            return None
        self._read[key] = note, body[:_KEPT]
        return note

    def _locator(self, key: str) -> Locator:
        """Many notes lie in few folders: each of these is looked at once."""
        folder, _, name = key.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = Locator(folder)
        return self._folders[folder].child(name)

    # -- gathering --------------------------------------------------------------------------------------------

    def add_folder(self, folder: Locator, indexed: dict[str, tuple[str, Note]], deadline: float) -> None:
        from agentm_recall.lookup import note_files

        try:
            for info in note_files(self.backend, folder):
                self._add(info, indexed.get(info.locator.key), deadline)
        except AgentmError as error:
            self.problems.append((folder.key, error.message))

    def _add(self, info: Info, indexed: tuple[str, Note] | None, deadline: float) -> None:
        key = info.locator.key
        self._sizes[key] = info.size
        if indexed is not None and info.version and indexed[0] == info.version:
            self.notes.append(indexed[1])
        elif time.monotonic() > deadline:
            self.unreached += 1
        elif (note := self._read_from_store(key)) is not None:
            self.notes.append(note)

    def add_everything(self, folders: Sequence[Locator], deadline: float) -> None:
        """Every note below the folders, read from the store."""
        for folder in folders:
            self.add_folder(folder, {}, deadline)

    def add_changed(self, info: Info, deadline: float) -> None:
        """A note that the index does not know as it is."""
        self._add(info, None, deadline)

    def add_outline(self, outline: Outline) -> None:
        """Notes to choose among, and the counts of the others in their folders."""
        self.notes += outline.notes
        self._sizes |= outline.sizes
        current, superseded, deleted = (sum(states[at] for states in outline.states.values()) for at in range(3))
        self.more += current - len(outline.notes)
        self.superseded += superseded
        self.deleted += deleted

    def add_bodies(self, database: Database, notes: Sequence[Note]) -> None:
        """The texts of notes of a store that is not on this host."""
        for key, (note, body) in database.texts([note.key for note in notes], _KEPT).items():
            self._read[key] = note, body

    def add_from_index(self, database: Database, indexed: dict[str, tuple[str, Note]]) -> None:
        """All that can be known about a store whose notes are not on this host."""
        self.notes += [note for _, (_, note) in sorted(indexed.items())]
        self.add_bodies(database, self.notes)


def gather(
    backend: StorageBackend,
    folders: Sequence[Locator],
    *,
    deadline: float,
    environ: Mapping[str, str] | None = None,
) -> Catalog:
    """Every note below the folders, by a listing, as far as the deadline (of `time.monotonic`) allows."""
    catalog = Catalog.until(backend, deadline)
    indexed = _indexed(catalog, folders, environ)
    if is_elsewhere(backend):
        return catalog
    for folder in folders:
        catalog.add_folder(folder, indexed, deadline)
    return catalog


def _indexed(
    catalog: Catalog, folders: Sequence[Locator], environ: Mapping[str, str] | None
) -> dict[str, tuple[str, Note]]:
    """What the index knows; for a store elsewhere that is all that can be known, and goes into the catalog."""
    from agentm_recall.index.place import NoPlace, index_path

    try:
        path = index_path(catalog.backend, environ)
    except NoPlace:
        path = ""
    if not os.path.exists(path):
        if is_elsewhere(catalog.backend):
            catalog.notices.append("the store is not on this host and not indexed: run `agentm reindex`")
        return {}
    from agentm_recall.index.database import Database, IndexUnavailable
    from agentm_recall.overview import age_of

    try:
        with Database.open(path, read_only=True) as database:
            known = database.notes(folders)
            if is_elsewhere(catalog.backend):
                catalog.add_from_index(database, known)
                catalog.notices.append(f"what is newer than the index, which is {age_of(path)} old")
            return known
    except IndexUnavailable as error:
        catalog.notices.append(f"the index was not used: {error}")
        return {}
