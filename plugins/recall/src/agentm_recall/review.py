"""What somebody should look at: notes whose time is over, that name what is gone, that are doubted, that no agent was
ever given, or that say the same as another one of another time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from agentm_recall.index.contents import Contents
from agentm_recall.index.database import NOTE_COLUMNS, Failures, note_of_row
from agentm_recall.index.lexicon import Lexicon
from agentm_recall.remarks import read_remarks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_recall.deliveries import Delivered
    from agentm_recall.index.database import Database
    from agentm_recall.note import Note

_COMPARED = 2000
"""So many of the newest notes of a project are compared with each other."""
_RARE = 12
"""A word that more notes have does not make two of them alike."""
_COMMON_WORDS = 3
_DOUBTED = 0.5


class Finding(NamedTuple):
    """Why a note should be looked at."""

    note: Note
    what: str
    """`stale`, `gone`, `doubted`, `unused` or `alike`."""
    why: str
    other: Note | None = None
    """The older note that is nearly the same."""


def review(database: Database, index: str, project: str, delivered: Delivered) -> list[Finding]:
    """What there is to settle in a project and among the personal notes."""
    with Failures():
        rows = database.connection.execute(
            f"SELECT {NOTE_COLUMNS}, id FROM notes WHERE dead = 0 AND (project = ? OR project IS NULL)"  # noqa: S608
            " ORDER BY changed DESC",
            (project,),
        ).fetchall()
    notes = {row[14]: note_of_row(row) for row in rows}
    remarks = read_remarks(index, project)
    findings = []
    for note in notes.values():
        if note.is_overdue:
            findings.append(Finding(note, "stale", f"stale since {note.stale_after[:10]}"))
        remark = remarks.get(note.key)
        if remark is not None and remark.holds_for(note):
            findings.append(Finding(note, "gone", remark.long))
        if note.confidence is not None and note.confidence < _DOUBTED:
            findings.append(Finding(note, "doubted", f"doubted: confidence {note.confidence:g}"))
    return findings + _unused(notes.values(), project, delivered) + _alike(database, notes)


def _unused(notes: Iterable[Note], project: str, delivered: Delivered) -> list[Finding]:
    """Notes of the project that were there before all that is known of its sessions, and came up in none."""
    if not delivered.says_enough:
        return []
    since = datetime.fromtimestamp(delivered.since, UTC).isoformat()
    why = f"given to no agent in the {delivered.sessions} sessions since {since[:10]}"
    return [
        Finding(note, "unused", why)
        for note in notes
        if note.project == project and note.changed < since and note.key.removesuffix(".md") not in delivered.keys
    ]


def _alike(database: Database, notes: dict[int, Note]) -> list[Finding]:
    """Pairs that are nearly the same and that nobody settled, the newer one first."""
    numbers = list(notes)[:_COMPARED]
    contents = Contents(database, Lexicon(database), numbers)
    holders: dict[str, list[int]] = {}
    for number in numbers:
        for stem in contents.bodies.get(number, ()):
            holders.setdefault(stem, []).append(number)
    common: dict[tuple[int, int], int] = {}
    for group in holders.values():
        if len(group) <= _RARE:
            for at, first in enumerate(group):
                for second in group[at + 1 :]:
                    common[first, second] = common.get((first, second), 0) + 1
    findings = []
    for (first, second), count in common.items():
        one, other = notes[first], notes[second]
        if count >= _COMMON_WORDS and one.project == other.project and contents.are_alike(first, second):
            newer, older = (one, other) if (one.changed, one.key) >= (other.changed, other.key) else (other, one)
            why = f"nearly the same as {older.key.removesuffix('.md')} of {older.changed[:10] or 'no date'}"
            findings.append(Finding(newer, "alike", why, older))
    return sorted(findings, key=lambda finding: finding.note.key)
