"""What the outlines do not tell: the index is asked, and the store what the index does not know.

The index is opened read-only and never built here. What is read from the store is read while the time allows.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.plugin import AgentmError
from agentm_recall.catalog import KEPT, Catalog
from agentm_recall.index.outlines import MOST, Shelf
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.layout import shelf_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import Info, Locator, StorageBackend
    from agentm_recall.index.database import Database
    from agentm_recall.index.outlines import Outline
    from agentm_recall.note import Brief, Note

_LISTED = 3000
"""Notes in the folders that may be listed at most. A hook is waiting."""
_LEAST_NOTE = 25
"""Tokens that a note takes."""
_NOT_INDEXED = "the store is not on this host and not indexed: run `agentm reindex`"


# -- for a recall ---------------------------------------------------------------------------------------------


def add_by_index(catalog: Catalog, places: Sequence[Locator], room: int, deadline: float) -> None:
    """The notes that `room` tokens can show, by the index; without one, every note as far as the time allows."""
    if os.path.exists(catalog.index):
        _add_indexed(catalog, places, max(MOST, room // _LEAST_NOTE), deadline)
    elif catalog.is_elsewhere:
        catalog.notices.append(_NOT_INDEXED)
    else:
        _add_everything(catalog, places, deadline)


def _add_indexed(catalog: Catalog, places: Sequence[Locator], most: int, deadline: float) -> None:
    """Folders that have changed are listed, and their notes compared with the index."""
    from agentm_recall.index.database import Database, IndexUnavailable
    from agentm_recall.index.differences import find_changes
    from agentm_recall.index.outlining import outline_of

    elsewhere = catalog.is_elsewhere
    try:
        with Database.open(catalog.index, read_only=True) as database:
            difference = None if elsewhere else find_changes(database, catalog.backend, places, _LISTED)
            if difference is not None and not difference.hashes and difference.stale:
                most += len(difference.stale)
            outline = outline_of(database, places, most)
            changed = [] if difference is None else difference.keys
            catalog.problems += difference.unlisted.items() if difference is not None else ()
            for key in changed:
                _forget(outline, key, database.state(key))
            catalog.add_outline(outline)
            if elsewhere:
                add_bodies(catalog, database, outline.notes)
                catalog.notices.append(f"what is newer than the index, which is {_age_of(catalog.index)} old")
            for info in difference.stale if difference is not None else ():
                _add(catalog, info, None, deadline)
    except IndexUnavailable as error:
        if elsewhere:
            catalog.notices.append(f"the index was not used: {error}")
        else:
            _add_everything(catalog, places, deadline)


def _forget(outline: Outline, key: str, state: int | None) -> None:
    """Take a note out of an outline, and out of its counts."""
    shelf = outline.shelves.get(shelf_of(key), ())
    if any(note.key == key for note in shelf):
        outline.shelves[shelf_of(key)] = Shelf([note for note in shelf if note.key != key])
    folder = key.rpartition("/")[0]
    if state is not None and folder in outline.states:
        counts = list(outline.states[folder])
        counts[state] -= 1
        outline.states[folder] = counts[0], counts[1], counts[2]


def _add_everything(catalog: Catalog, folders: Sequence[Locator], deadline: float) -> None:
    for folder in folders:
        _add_folder(catalog, folder, {}, deadline)


def add_bodies(catalog: Catalog, database: Database, notes: Sequence[Brief]) -> None:
    """The texts of notes of a store that is not on this host."""
    for note, body in database.texts([note.key for note in notes], KEPT).values():
        catalog.keep(note, body)


# -- every note -----------------------------------------------------------------------------------------------


def gather(
    backend: StorageBackend,
    folders: Sequence[Locator],
    *,
    deadline: float,
    environ: Mapping[str, str] | None = None,
) -> Catalog:
    """Every note below the folders, by a listing, as far as the deadline (of `time.monotonic`) allows."""
    catalog = Catalog(backend, deadline)
    indexed = _indexed(catalog, folders, environ)
    if not catalog.is_elsewhere:
        for folder in folders:
            _add_folder(catalog, folder, indexed, deadline)
    return catalog


def _indexed(
    catalog: Catalog, folders: Sequence[Locator], environ: Mapping[str, str] | None
) -> dict[str, tuple[str, Note]]:
    """What the index knows; for a store elsewhere that is all that can be known, and goes into the catalog."""
    try:
        path = index_path(catalog.backend, environ)
    except NoPlace:
        path = ""
    if not os.path.exists(path):
        if catalog.is_elsewhere:
            catalog.notices.append(_NOT_INDEXED)
        return {}
    from agentm_recall.index.database import Database, IndexUnavailable

    try:
        with Database.open(path, read_only=True) as database:
            known = database.notes(folders)
            if catalog.is_elsewhere:
                catalog.notes += [note for _, (_, note) in sorted(known.items())]
                add_bodies(catalog, database, catalog.notes)
                catalog.notices.append(f"what is newer than the index, which is {_age_of(path)} old")
            return known
    except IndexUnavailable as error:
        catalog.notices.append(f"the index was not used: {error}")
        return {}


def _add_folder(catalog: Catalog, folder: Locator, indexed: dict[str, tuple[str, Note]], deadline: float) -> None:
    from agentm_recall.lookup import note_files

    try:
        for info in note_files(catalog.backend, folder):
            _add(catalog, info, indexed.get(info.locator.key), deadline)
    except AgentmError as error:
        catalog.problems.append((folder.key, error.message))


def _add(catalog: Catalog, info: Info, indexed: tuple[str, Note] | None, deadline: float) -> None:
    """A note, from the store unless the index knows it as it is."""
    key = info.locator.key
    catalog.sizes[key] = info.size
    if indexed is not None and info.version and indexed[0] == info.version:
        catalog.notes.append(indexed[1])
    elif time.monotonic() > deadline:
        catalog.unreached += 1
    elif (note := catalog.read(key)) is not None:
        catalog.notes.append(note)


def _age_of(path: str) -> str:
    """How old a file is, in words."""
    minutes = max(0.0, time.time() - os.stat(path).st_mtime) / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
