"""What a check found out about notes, as plain lines beside the index: short enough for a hook to read.

A remark holds as long as the note states the same dates. Whoever changes or confirms a note takes it back.
"""

from __future__ import annotations

import os

from agentm_recall.index.place import REMARKS, beside, read_beside, write_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentm_recall.note import Note

_HEADER = "agentm-recall remarks 1"
_SEPARATOR = "\t"
_BETWEEN = "\x1f"


class Remark:
    """What a note names that is gone, by kind."""

    def __init__(self, key: str, stated: str, gone: Mapping[str, list[str]]) -> None:
        self.key = key
        self.stated = stated
        """The dates of the note that was checked."""
        self.gone = gone

    @property
    def short(self) -> str:
        """For the line above a note."""
        parts = [
            f"{len(names)} {kind}s that are gone" if len(names) > 1 else f"a {kind} that is gone"
            for kind, names in self.gone.items()
        ]
        return f"names {' and '.join(parts)}"

    @property
    def long(self) -> str:
        """With the names, for a person."""
        return f"{self.short}: {', '.join(name for names in self.gone.values() for name in names)}"

    def holds_for(self, note: Note) -> bool:
        return self.stated == stated_by(note)


def stated_by(note: Note) -> str:
    return f"{note.changed}|{note.verified}"


class Remarks:
    """The remarks about the notes of a store, read project by project when they are first asked for."""

    def __init__(self, index: str) -> None:
        self._index = index
        self._by_project: dict[str, dict[str, Remark]] = {}

    def about(self, note: Note) -> Remark | None:
        if note.project is None:
            return None
        if note.project not in self._by_project:
            self._by_project[note.project] = read_remarks(self._index, note.project)
        remark = self._by_project[note.project].get(note.key)
        return remark if remark is not None and remark.holds_for(note) else None

    def line(self, note: Note) -> str:
        """What there is to say about a note in a few words; `""` for nothing."""
        remark = self.about(note)
        return remark.short if remark is not None else ""


def read_remarks(index: str, project: str) -> dict[str, Remark]:
    """The remarks about the notes of a project, by key."""
    found = {}
    for what, *parts in _rows(index, project):
        if what == "gone" and len(parts) >= 3:
            key, stated, *kinds = parts
            gone = {kind: names.split(_BETWEEN) for part in kinds for kind, _, names in (part.partition(" "),)}
            found[key] = Remark(key, stated, gone)
    return found


def read_seen(index: str, project: str) -> set[str]:
    """Commits that the checkout once had."""
    return {parts[0] for what, *parts in _rows(index, project) if what == "seen" and parts}


def write_remarks(index: str, project: str, remarks: Iterable[Remark], seen: set[str]) -> None:
    from agentm_kernel.plugin import make_private_folder

    rows = [_HEADER]
    for remark in remarks:
        kinds = [f"{kind} {_BETWEEN.join(names)}" for kind, names in remark.gone.items()]
        rows.append(_SEPARATOR.join(("gone", remark.key, remark.stated, *kinds)))
    rows += [_SEPARATOR.join(("seen", name)) for name in sorted(seen)]
    path = beside(index, REMARKS, project)
    text = "\n".join((*rows, ""))
    try:
        if not os.path.exists(path) and len(rows) == 1:
            return
        make_private_folder(os.path.dirname(path))
        write_beside(index, path, text.encode("utf-8", "surrogateescape"))
    except OSError:
        return  # derived: the next check writes it


def _rows(index: str, project: str) -> list[list[str]]:
    try:
        text = read_beside(index, beside(index, REMARKS, project)).decode("utf-8", "surrogateescape")
        header, *lines = text.split("\n")
    except (OSError, ValueError):
        return []
    return [line.split(_SEPARATOR) for line in lines if line] if header == _HEADER else []
