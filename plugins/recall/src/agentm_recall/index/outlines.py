"""Outlines: what choosing among notes takes, as plain lines beside the index, one file per project.

A session that starts has no time to load a database, nor to go through more notes than can be shown. So a file has
the folders of a project, each with its version and how many notes are in it, and the newest notes of each. Where a
folder is not the one that was listed, the index is asked; a file that is old, torn or gone costs time only.
"""

from __future__ import annotations

import os

from agentm_recall.index.sealed_place import read_beside, write_beside
from agentm_recall.layout import PERSONAL, PROJECT_FOLDERS, kind_folder, project_of
from agentm_recall.note import ACTIVE, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_kernel.plugin import Locator
    from agentm_recall.index.database import Database

MOST = 100
"""Notes of each kind: more than a recall of the usual size shows."""
_FOLDER = "outlines-2"
_HEADER = "agentm-recall outlines 2"
_SEPARATOR = "\t"
_BETWEEN_NAMES = "\x1f"


class Outline:
    """Some folders, and the newest current notes in them."""

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}
        """The version that each folder had when it was listed."""
        self.states: dict[str, tuple[int, int, int]] = {}
        """How many of its notes are current, replaced, deleted."""
        self.notes: list[Note] = []
        self.sizes: dict[str, int] = {}

    def add(self, key: str, project: str | None, changed: str, supersedes: tuple[str, ...], size: int) -> None:
        self.notes.append(Note(key, "", ACTIVE, "", (), project, "", changed, "", None, supersedes))
        self.sizes[key] = size

    def __ior__(self, other: Outline) -> Outline:
        self.folders |= other.folders
        self.states |= other.states
        self.notes += other.notes
        self.sizes |= other.sizes
        return self


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
    for rows in by_kind.values():
        rows.sort(key=lambda row: row[2], reverse=True)
        for key, _, changed, supersedes, size in rows[:most]:
            claims = tuple(supersedes.split("\n")) if supersedes else ()
            outline.add(key, project_of(key), changed, claims, size)
    return outline


def read_outline(index: str, project: str | None) -> Outline | None:
    """The outline of a project, or of the personal notes; `None` if there is none that can be read."""
    try:
        header, *lines = read_beside(index, _path(index, project)).decode().split("\n")
    except (OSError, ValueError):
        return None
    if header != _HEADER or not lines or lines[-1] != _HEADER:
        return None
    outline = Outline()
    try:
        for line in lines[:-1]:
            parts = line.split(_SEPARATOR)
            if parts[0] == "folder":
                _, key, version, current, replaced, deleted = parts
                outline.folders[key] = version
                outline.states[key] = int(current), int(replaced), int(deleted)
            else:
                _, key, changed, size, claims = parts
                outline.add(key, project, changed, tuple(claims.split(_BETWEEN_NAMES)) if claims else (), int(size))
    except ValueError:
        return None
    return outline


def write_outlines(index: str, database: Database, keys: Iterable[str] | None = None) -> None:
    """Bring the files up to date for the projects of `keys`, or all of them.

    Failing is no loss: what is not there is read from the store.
    """
    from agentm_kernel.plugin import Locator, make_private_folder

    if keys is None:
        keys = [f"{folder}/" for folder in database.folders([Locator()])]
    projects = {project_of(key) for key in keys}
    if not projects:
        return
    try:
        make_private_folder(os.path.join(os.path.dirname(index), _FOLDER))
        for project in projects:
            folders = [PERSONAL] if project is None else [f"{top}/{project}" for top in PROJECT_FOLDERS]
            outline = outline_of(database, [Locator(folder) for folder in folders])
            text = "\n".join((_HEADER, *_lines(outline), _HEADER))
            write_beside(index, _path(index, project), text.encode())
    except OSError:
        return


def _lines(outline: Outline) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("folder", key, version, *map(str, outline.states[key])) for key, version in outline.folders.items()
    ]
    rows += [
        ("note", note.key, note.changed, str(outline.sizes[note.key]), _BETWEEN_NAMES.join(note.supersedes))
        for note in outline.notes
    ]
    return [_SEPARATOR.join(row) for row in rows if not any(_SEPARATOR in part or "\n" in part for part in row)]


def _path(index: str, project: str | None) -> str:
    """A project's name is one part of a key, so it can be the name of a file on every system."""
    name = "personal" if project is None else f"project {project}"
    return os.path.join(os.path.dirname(index), _FOLDER, name)
