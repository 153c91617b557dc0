"""Asking the index: SQLite ranks by text, and what a text cannot tell is weighed afterwards.

The signals are few and multiply, so that `--explain` can show each of them: whose note it is, how old it is, how
sure its author was. Notes that were deleted or replaced never stand before one that is current.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_recall.index.database import Failures
from agentm_recall.index.refresh import scope_token
from agentm_recall.index.words import match_expression
from agentm_recall.note import DELETED, SUPERSEDED

if TYPE_CHECKING:
    from agentm_recall.index.database import Database
    from agentm_recall.note import Note

WEIGHTS = {"title": 4.0, "name": 3.0, "body": 1.0, "hidden": 0.5, "scope": 0.0}
"""How much a word counts by where it stands: heading, slug and tags, text, inside an identifier."""

# Not `rank`, which costs half as much again.
_RANK = f"bm25(texts, {', '.join(map(str, WEIGHTS.values()))})"
_MATCH = f"SELECT rowid, {_RANK} FROM texts WHERE texts MATCH ? ORDER BY 2 LIMIT ?"  # noqa: S608 - numbers

_ELSEWHERE = 0.5
"""A note of another project than the one the question is asked in."""
_PERSONAL = 0.9
_FRESH = 0.25
"""What a note of today gains over an old one; half of it is lost every `_HALF_LIFE` days."""
_HALF_LIFE = 90.0
_DOUBT = 0.3
"""What a note loses whose author gave it no confidence at all."""

_FIRST_LOOK = 30
"""How many of SQLite's best are weighed: the signals move a note by a few places."""


@dataclass(frozen=True)
class Hit:
    """A note that answers the question."""

    note: Note
    number: int
    text_score: float
    signals: dict[str, float] = field(default_factory=dict)
    is_current: bool = True

    @property
    def score(self) -> float:
        score = self.text_score
        for factor in self.signals.values():
            score *= factor
        return score


@dataclass(frozen=True)
class Scope:
    """Where to look. `project` leaves other projects out; `near` only prefers one."""

    project: str | None = None
    near: str | None = None
    kind: str | None = None
    with_dead: bool = False


def search(
    database: Database, question: str, scope: Scope, *, limit: int = 10, today: float | None = None
) -> list[Hit]:
    """The best answers, best first."""
    expression = scoped_expression(question, scope)
    if expression is None:
        return []
    day = today if today is not None else time.time() / 86_400
    look = max(_FIRST_LOOK, 2 * limit)
    while True:
        with Failures():
            ranked = database.connection.execute(_MATCH, (expression, look)).fetchall()
        hits = _weighed(database, ranked, scope, day)
        if len(hits) >= limit or len(ranked) < look:
            return hits[:limit]
        look *= 8  # dead notes took the places; look further down


def scoped_expression(question: str, scope: Scope) -> str | None:
    """The question for FTS5, limited to the scope."""
    expression = match_expression(question)
    if expression is None:
        return None
    conditions = []
    if scope.project is not None:
        projects = " OR ".join(scope_token("project", name) for name in (scope.project, None))
        conditions.append(f"scope : ({projects})")
    if scope.kind is not None:
        conditions.append(f"scope : {scope_token('kind', scope.kind)}")
    return " AND ".join((*conditions, f"({expression})"))


def _weighed(database: Database, ranked: list[tuple[int, float]], scope: Scope, day: float) -> list[Hit]:
    notes = database.by_id(number for number, _ in ranked)
    hits = []
    for number, rank in ranked:
        if number not in notes:
            continue
        note, is_replaced = notes[number]
        is_current = note.status not in (DELETED, SUPERSEDED) and not is_replaced
        if is_current or scope.with_dead:
            hits.append(Hit(note, number, -rank, _signals(note, scope, day), is_current))
    hits.sort(key=lambda hit: (not hit.is_current, -hit.score, hit.note.key))
    return hits


def _signals(note: Note, scope: Scope, day: float) -> dict[str, float]:
    signals = {}
    home = scope.project or scope.near
    if home is not None and note.project != home:
        signals["another project" if note.project else "personal"] = _ELSEWHERE if note.project else _PERSONAL
    written = day_of(note.changed)
    if written is not None:
        age = max(0.0, day - written)
        signals["recency"] = 1 + _FRESH * 0.5 ** (age / _HALF_LIFE)
    if note.confidence is not None:
        signals["confidence"] = 1 - _DOUBT * (1 - note.confidence)
    return signals


def day_of(date: str) -> float | None:
    """Days since 1970 of a date that begins with `YYYY-MM-DD`; `None` for anything else."""
    parts = date[:10].split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    year, month, day = map(int, parts)
    if not (1 <= month <= 12 and 1 <= day <= 31 and year):
        return None
    # Days of the proleptic calendar, counted from March so that the leap day comes last.
    year -= month < 3
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
