"""The notes that a recall may show, without going through all the others.

Usually the outline of the project says which: as many of the newest of each kind as can be shown, and how many there
are besides. A folder that has changed since is listed, and the index asked about it. Without an index every note is
read, as far as the time allows.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Locator, NotFoundError
from agentm_recall.catalog import Catalog
from agentm_recall.index.outlines import MOST, Outline, read_outline
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.layout import project_of
from agentm_recall.reach import has_times, is_elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import StorageBackend

_LISTED = 3000
"""Notes in the folders that may be listed at most. A hook is waiting."""
_USUAL = 12_000
"""Tokens. For a larger recall the outlines hold too little."""
_LEAST_NOTE = 25
"""Tokens that a note takes."""


def overview(
    backend: StorageBackend,
    places: Sequence[Locator],
    *,
    room: int,
    deadline: float,
    environ: Mapping[str, str] | None = None,
) -> Catalog:
    """The notes below the places that a recall of `room` tokens can show, and counts of the others."""
    catalog = Catalog.until(backend, deadline)
    try:
        index = index_path(backend, environ)
    except NoPlace:
        index = ""
    elsewhere = is_elsewhere(backend)
    if index and room <= _USUAL and not elsewhere and has_times(backend):
        outline = _from_files(index, places)
        if outline is not None and _is_current(backend, places, outline):
            catalog.add_outline(outline)
            return catalog
    if not os.path.exists(index):
        if elsewhere:
            catalog.notices.append("the store is not on this host and not indexed: run `agentm reindex`")
            return catalog
        catalog.add_everything(places, deadline)
        return catalog
    _from_index(catalog, index, places, max(MOST, room // _LEAST_NOTE), deadline)
    return catalog


def _from_files(index: str, places: Sequence[Locator]) -> Outline | None:
    outline = Outline()
    for project in {project_of(f"{place.key}/"): None for place in places}:
        found = read_outline(index, project)
        if found is None:
            return None
        outline |= found
    return outline


def _is_current(backend: StorageBackend, places: Sequence[Locator], outline: Outline) -> bool:
    """Whether no folder has changed. One that is new shows in the one above it, which is one of these or a place."""
    keys = dict.fromkeys((*outline.folders, *(place.key for place in places)))
    for key in keys:
        try:
            version = backend.info(Locator(key)).version
        except NotFoundError:
            if key in outline.folders:
                return False
            continue
        if version != outline.folders.get(key):
            return False
    return True


def _from_index(catalog: Catalog, index: str, places: Sequence[Locator], most: int, deadline: float) -> None:
    from agentm_recall.index.database import Database, IndexUnavailable
    from agentm_recall.index.differences import find_changes
    from agentm_recall.index.outlines import outline_of

    elsewhere = is_elsewhere(catalog.backend)
    try:
        with Database.open(index, read_only=True) as database:
            difference = None if elsewhere else find_changes(database, catalog.backend, places, _LISTED)
            if difference is not None and not difference.hashes and difference.stale:
                most += len(difference.stale)
            outline = outline_of(database, places, most)
            changed = [] if difference is None else difference.keys
            for key in changed:
                _forget(outline, key, database.state(key))
            catalog.add_outline(outline)
            if elsewhere:
                catalog.add_bodies(database, outline.notes)
                catalog.notices.append(f"what is newer than the index, which is {age_of(index)} old")
            for info in difference.stale if difference is not None else ():
                catalog.add_changed(info, deadline)
    except IndexUnavailable as error:
        if elsewhere:
            catalog.notices.append(f"the index was not used: {error}")
        else:
            catalog.add_everything(places, deadline)


def _forget(outline: Outline, key: str, state: int | None) -> None:
    """Take a note out of an outline, and out of its counts."""
    outline.notes = [note for note in outline.notes if note.key != key]
    folder = key.rpartition("/")[0]
    if state is not None and folder in outline.states:
        counts = list(outline.states[folder])
        counts[state] -= 1
        outline.states[folder] = counts[0], counts[1], counts[2]


def age_of(path: str) -> str:
    """How old a file is, in words."""
    import time

    minutes = max(0.0, time.time() - os.stat(path).st_mtime) / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
