"""The notes that a recall may show, without going through all the others.

Usually the outline of the project says which: as many of the newest of each kind as can be shown, and how many there
are besides. Where a folder has changed since, or there is no outline, `gathering` asks the index or lists the store.
Session start comes this way, so nothing here imports more than it must.
"""

from __future__ import annotations

import time

from agentm_kernel.plugin import AgentmError, Locator, NotFoundError
from agentm_recall.index.outlines import read_outline
from agentm_recall.index.place import NoPlace, has_times, index_path, is_elsewhere
from agentm_recall.layout import project_of
from agentm_recall.note import parse_note, stored_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.index.outlines import Outline, Shelf
    from agentm_recall.note import Brief, Note

KEPT = 65_536
"""Characters of a body that are kept while others are read; no recall shows more of one note."""
_TO_LOOK_UP = 0.5
"""Seconds beyond the deadline for reading the notes that were chosen. Then the hook answers with what it has."""
_USUAL = 12_000
"""Tokens. For a larger recall the outlines hold too little."""


class Catalog:
    """The notes below some folders, and what could not be learned about them."""

    def __init__(self, backend: StorageBackend, deadline: float) -> None:
        self.shelves: dict[str, Shelf] = {}
        """Notes as the index knows them, good for choosing; `look_up` has the whole of one."""
        self.notes: list[Note] = []
        """Notes as they were found now."""
        self.problems: list[tuple[str, str]] = []
        """Keys of notes and folders that cannot be read, each with the reason."""
        self.unreached = 0
        """Notes that there was no time to look at."""
        self.more = self.superseded = self.deleted = 0
        """Notes that are in neither list: current ones, and dead ones."""
        self.notices: list[str] = []
        self.sizes: dict[str, int] = {}
        """Of notes that do not say it themselves."""
        self.index = ""
        """Where the index lies, if there can be one."""
        self.backend = backend
        self.is_elsewhere = is_elsewhere(backend)
        self._deadline = deadline + _TO_LOOK_UP
        self._folders: dict[str, Locator] = {}
        self._read: dict[str, tuple[Note, str]] = {}

    @property
    def candidates(self) -> list[Brief]:
        """All that can be chosen among."""
        return [*(note for shelf in self.shelves.values() for note in shelf), *self.notes]

    def size(self, note: Brief) -> int:
        """About how many characters the note has; 0 if that is not known."""
        return note.size or self.sizes.get(note.key, 0)

    def look_up(self, key: str) -> tuple[Note, str] | None:
        """A note and its text, from the store: a damaged index may hide a note but never invent one.

        `None` if it has vanished, or cannot be read, or there is no time left: then it is accounted for.
        """
        if key not in self._read and not self.is_elsewhere:
            if time.monotonic() > self._deadline:
                self.unreached += 1
            else:
                self.read(key)
        return self._read.get(key)

    def read(self, key: str) -> Note | None:
        """Read a note from the store now; `None` if it is not there, or cannot be read: then that is a problem."""
        try:
            note, body = parse_note(key, stored_text(self.backend, self._locator(key)))
        except NotFoundError:
            return None
        except AgentmError as error:
            self.problems.append((key, error.message))
            return None
        self.keep(note, body)
        return note

    def keep(self, note: Note, body: str) -> None:
        """Have the text of a note at hand."""
        self._read[note.key] = note, body[:KEPT]

    def _locator(self, key: str) -> Locator:
        """Many notes lie in few folders: each of these is looked at once."""
        folder, _, name = key.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = Locator(folder)
        return self._folders[folder].child(name)

    def add_outline(self, outline: Outline) -> None:
        """Notes to choose among, and the counts of the others in their folders."""
        for name, shelf in outline.shelves.items():
            known = self.shelves.get(name)
            self.shelves[name] = shelf if known is None else known.merged(shelf)
            self.more -= len(shelf)
        for current, superseded, deleted in outline.states.values():
            self.more += current
            self.superseded += superseded
            self.deleted += deleted


def overview(
    backend: StorageBackend,
    places: Sequence[Locator],
    *,
    room: int,
    deadline: float,
    environ: Mapping[str, str] | None = None,
) -> Catalog:
    """The notes below the places that a recall of `room` tokens can show, and counts of the others.

    What the index does not know is read as far as the deadline (of `time.monotonic`) allows.
    """
    catalog = Catalog(backend, deadline)
    try:
        catalog.index = index_path(backend, environ)
    except NoPlace:
        catalog.index = ""
    if catalog.index and room <= _USUAL and not catalog.is_elsewhere and has_times(backend):
        outlines = _outlines(catalog.index, places)
        if outlines and _are_current(backend, places, outlines):
            for outline in outlines:
                catalog.add_outline(outline)
            return catalog
    from agentm_recall.gathering import add_by_index

    add_by_index(catalog, places, room, deadline)
    return catalog


def _outlines(index: str, places: Sequence[Locator]) -> list[Outline]:
    """The outlines of the projects, and of what is personal; none if one of them cannot be had."""
    outlines = []
    for project in {project_of(f"{place.key}/"): None for place in places}:
        outline = read_outline(index, project)
        if outline is None:
            return []
        outlines.append(outline)
    return outlines


def _are_current(backend: StorageBackend, places: Sequence[Locator], outlines: list[Outline]) -> bool:
    """Whether no folder has changed. One that is new shows in the one above it, which is one of these or a place."""
    versions = {key: version for outline in outlines for key, version in outline.folders.items()}
    for key in dict.fromkeys((*versions, *(place.key for place in places))):
        try:
            version = backend.info(Locator(key)).version
        except NotFoundError:
            if key in versions:
                return False
            continue
        if version != versions.get(key):
            return False
    return True
