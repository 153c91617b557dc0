"""Outlines: what choosing among notes takes, as plain lines beside the index, one file per project.

A session that starts has no time to load a database, nor to go through more notes than can be shown. So a file has
the folders of a project, each with its version and how many notes are in it, and the newest notes of each kind. Where
a folder is not the one that was listed, the index is asked; a file that is old, torn or gone costs time only. Making
them is in `outlining`.
"""

from __future__ import annotations

from agentm_recall.index.place import OUTLINES, beside, read_beside
from agentm_recall.layout import shelf_of
from agentm_recall.note import Brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 100
"""Notes of each kind: more than a recall of the usual size shows."""
HEADER = "agentm-recall outlines 4"
SEPARATOR = "\t"
BETWEEN_NAMES = "\x1f"


class Shelf:
    """The notes of one kind, newest first. Those in a file are lines, taken apart when it is their turn."""

    __slots__ = ("_notes", "_project", "claims")

    def __init__(self, notes: list[str] | list[Brief], project: str | None = None, claims: int | None = None) -> None:
        self._notes = notes
        self._project = project
        """Whose lines these are."""
        self.claims = sum(bool(note.supersedes) for note in self) if claims is None else claims
        """How many of them say that they replace another one."""

    def __len__(self) -> int:
        return len(self._notes)

    def __iter__(self) -> Iterator[Brief]:
        for note in self._notes:
            if isinstance(note, Brief):
                yield note
                continue
            try:
                key, changed, created, size, claims = note.split(SEPARATOR)
                supersedes = tuple(claims.split(BETWEEN_NAMES)) if claims else ()
                yield Brief(key, self._project, changed, created, supersedes, int(size))
            except ValueError:
                continue  # the file is damaged: that may hide a note, and nothing else

    def merged(self, other: Shelf) -> Shelf:
        """The notes of both."""
        (both,) = shelved((*self, *other)).values()
        return both


def shelved(notes: Iterable[Brief]) -> dict[str, Shelf]:
    """Notes by shelf, as a recall chooses among them."""
    shelves: dict[str, list[Brief]] = {}
    for note in notes:
        shelves.setdefault(shelf_of(note.key), []).append(note)
    for found in shelves.values():
        found.sort(key=lambda note: note.key)
        found.sort(key=lambda note: note.changed, reverse=True)
    return {name: Shelf(found) for name, found in shelves.items()}


class Outline:
    """Some folders, and the newest current notes in them."""

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}
        """The version that each folder had when it was listed."""
        self.states: dict[str, tuple[int, int, int]] = {}
        """How many of its notes are current, replaced, deleted."""
        self.shelves: dict[str, Shelf] = {}

    @property
    def notes(self) -> list[Brief]:
        return [note for shelf in self.shelves.values() for note in shelf]


def read_outline(index: str, project: str | None) -> Outline | None:
    """The outline of a project, or of the personal notes; `None` if there is none that can be read."""
    try:
        header, *lines = read_beside(index, beside(index, OUTLINES, project)).decode().split("\n")
    except (OSError, ValueError):
        return None
    if [header, *lines[-1:]] != [HEADER, HEADER]:
        return None
    outline = Outline()
    at, end = 0, len(lines) - 1
    try:
        while at < end:
            what, name, *parts = lines[at].split(SEPARATOR)
            at += 1
            if what == "folder":
                version, current, replaced, deleted = parts
                outline.folders[name] = version
                outline.states[name] = int(current), int(replaced), int(deleted)
            else:
                count, claims = map(int, parts)
                if not 0 <= count <= end - at:
                    return None
                outline.shelves[name] = Shelf(lines[at : at + count], project, claims)
                at += count
    except ValueError:
        return None
    return outline
