"""Making outlines from the index, and writing them beside it. What they are for and how they are read: `outlines`."""

from __future__ import annotations

import os

from agentm_kernel.plugin import Locator, make_private_folder
from agentm_recall.index.outlines import BETWEEN_NAMES, HEADER, MOST, SEPARATOR, Outline, shelved
from agentm_recall.index.place import OUTLINES, beside, write_beside
from agentm_recall.layout import PERSONAL, PROJECT_FOLDERS, kind_folder, project_of
from agentm_recall.note import Brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentm_recall.index.database import Database


def outline_of(database: Database, places: Sequence[Locator], most: int = MOST) -> Outline:
    """The outline of what lies below the places, from the index."""
    outline = Outline()
    outline.folders = database.folders(places)
    by_kind: dict[str, list[tuple[str, str, str, str, int]]] = {}
    for folder in outline.folders:
        outline.states[folder] = database.states(folder)
        rows = database.newest(folder, most)
        if rows:
            by_kind.setdefault(kind_folder(rows[0][0]), []).extend(rows)
    notes = []
    for rows in by_kind.values():
        rows.sort(key=lambda row: row[1], reverse=True)
        for key, changed, created, supersedes, size in rows[:most]:
            claims = tuple(supersedes.split("\n")) if supersedes else ()
            notes.append(Brief(key, project_of(key), changed, created, claims, size))
    outline.shelves = shelved(notes)
    return outline


def write_outlines(index: str, database: Database, keys: Iterable[str] | None = None) -> None:
    """Bring the files up to date for the projects of `keys`, or all of them.

    Failing is no loss: what is not there is read from the store.
    """
    if keys is None:
        keys = [f"{folder}/" for folder in database.folders([Locator()])]
    projects = {project_of(key) for key in keys}
    if not projects:
        return
    try:
        make_private_folder(os.path.join(os.path.dirname(index), OUTLINES))
        for project in projects:
            folders = [PERSONAL] if project is None else [f"{top}/{project}" for top in PROJECT_FOLDERS]
            outline = outline_of(database, [Locator(folder) for folder in folders])
            text = "\n".join((HEADER, *_lines(outline), HEADER))
            write_beside(index, beside(index, OUTLINES, project), text.encode())
    except OSError:
        return


def _lines(outline: Outline) -> Iterator[str]:
    for key, version in outline.folders.items():
        if (line := _line("folder", key, version, *map(str, outline.states[key]))) is not None:
            yield line
    for name, shelf in outline.shelves.items():
        rows = (
            (note.key, note.changed, note.created, str(note.size), BETWEEN_NAMES.join(note.supersedes))
            for note in shelf
        )
        lines = [line for row in rows if (line := _line(*row))]
        if (line := _line("shelf", name, str(len(lines)), str(shelf.claims))) is not None:
            yield from (line, *lines)


def _line(*parts: str) -> str | None:
    """One line; `None` where a part would be more than one."""
    return None if any(SEPARATOR in part or "\n" in part for part in parts) else SEPARATOR.join(parts)
