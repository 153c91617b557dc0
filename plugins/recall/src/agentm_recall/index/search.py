"""Asking the index: SQLite ranks by text, and what a text cannot tell is weighed afterwards.

The signals are few and multiply, so that `--explain` can show each of them: whose note it is, how old it is, how
sure its author was. Notes that were deleted or replaced never stand before one that is current, unless the past is
what was asked for.
"""

from __future__ import annotations

import time

from agentm_kernel.plugin import Frozen
from agentm_recall.index.contents import Contents
from agentm_recall.index.coverage import ENOUGH, confidence
from agentm_recall.index.database import Failures
from agentm_recall.index.plan import MOST_NOTES, Plan, plan_of
from agentm_recall.index.times import Times, read_times
from agentm_recall.index.words import scope_token
from agentm_recall.note import DELETED, SUPERSEDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.index.database import Database
    from agentm_recall.note import Note

WEIGHTS = {"title": 3.0, "name": 2.0, "body": 1.0, "hidden": 0.5, "scope": 0.0}
"""How much a word counts by where it stands: heading, slug and tags, text, inside an identifier."""

# Not `rank`, which costs half as much again.
_RANK = f"bm25(texts, {', '.join(map(str, WEIGHTS.values()))})"
_MATCH = f"SELECT rowid, {_RANK} FROM texts WHERE texts MATCH ? ORDER BY 2 LIMIT ?"  # noqa: S608 - numbers

_ELSEWHERE = 0.5
"""A note of another project than the one the question is asked in."""
_PERSONAL = 0.9
_FRESH = 0.15
"""What a note of today gains over an old one; half of it is lost every `_HALF_LIFE` days."""
_FRESH_IF_ASKED = 1.0
_HALF_LIFE = 90.0
_OTHER_TIME = 0.4
"""A note of another time than the one that is asked about."""
_DOUBT = 0.3
"""What a note loses whose author gave it no confidence at all."""
_OVERDUE = 0.7
"""A note that says of itself that its time is over."""
_KNOWN_ISSUE = 1.25
"""Whoever pastes an error asks whether it is known."""

_FIRST_LOOK = 30
"""How many of SQLite's best are weighed: the signals move a note by a few places."""
_FIRST_LOOK_IF_LONG = 60
_COMPARED = 10
"""So many of the best are compared with each other."""
_BEST = 3
"""So many of them decide whether there is an answer."""


class Hit(Frozen):
    """A note that answers the question."""

    note: Note
    number: int
    text_score: float
    signals: dict[str, float]
    is_current: bool = True
    is_fresh: bool = False
    """Whether it is of what changed since the index was written."""

    def as_fresh(self) -> Hit:
        return Hit(self.note, self.number, self.text_score, self.signals, self.is_current, is_fresh=True)

    @property
    def score(self) -> float:
        score = self.text_score
        for factor in self.signals.values():
            score *= factor
        return score


class Scope(Frozen):
    """Where to look. `project` leaves other projects out; `near` only prefers one."""

    project: str | None = None
    near: str | None = None
    kind: str | None = None
    with_dead: bool = False


class Result(Frozen):
    """The best answers, best first, and how sure it is that they answer at all."""

    hits: list[Hit]
    plan: Plan | None = None
    confidence: float = 0.0
    """From 0 to 1: how much of what the question is about the best notes cover."""
    confidences: tuple[float, ...] = ()
    """The same for each of the first ten."""
    dead: int = 0
    """Notes that match and were left out because they were deleted or replaced."""

    @property
    def is_answer(self) -> bool:
        return bool(self.hits) and self.confidence >= ENOUGH

    @property
    def answers(self) -> list[Hit]:
        """The hits that answer by themselves."""
        return [hit for hit, sure in zip(self.hits, self.confidences, strict=False) if sure >= ENOUGH]


def search(database: Database, question: str, scope: Scope, *, limit: int = 10, today: float | None = None) -> Result:
    plan = plan_of(database, question)
    expression = expression_of(plan, scope) if plan else None
    if plan is None or expression is None:
        return Result([], plan)
    day = today if today is not None else time.time() / 86_400
    times = read_times(question, day)
    look = max(_FIRST_LOOK if plan.question.is_short else _FIRST_LOOK_IF_LONG, 2 * limit)
    while True:
        with Failures():
            ranked = database.connection.execute(_MATCH, (expression, look)).fetchall()
        hits, dead = _weighed(database, plan, ranked, scope, times, day)
        if len(hits) >= limit or len(ranked) < look:
            break
        look *= 8  # dead notes took the places; look further down
    compared = Contents(database, plan.lexicon, (hit.number for hit in hits[:_COMPARED]))
    hits = _newer_first(hits, compared)
    if times.wants_past:
        from agentm_recall.index.history import with_the_past  # here, because few questions need it

        hits = with_the_past(database, plan, times, hits, dead)
    hits = hits[:limit]
    sure = tuple(confidence(plan, compared, hit.number) for hit in hits[:_COMPARED])
    return Result(hits, plan, max(sure[:_BEST], default=0.0), sure, len(dead))


def expression_of(plan: Plan, scope: Scope) -> str | None:
    """What FTS5 is asked. Within a project that is small enough, no word is too common to be looked for."""
    if scope.project is not None:
        tokens = [scope_token("project", name) for name in (scope.project, None)]
        if sum(plan.lexicon.counts(tokens).values()) <= MOST_NOTES:
            return plan.expression(scope_condition(scope), most=None)
    return plan.expression(scope_condition(scope))


def scope_condition(scope: Scope) -> str:
    """What FTS5 is to demand besides the words."""
    conditions = []
    if scope.project is not None:
        projects = " OR ".join(scope_token("project", name) for name in (scope.project, None))
        conditions.append(f"scope : ({projects})")
    if scope.kind is not None:
        conditions.append(f"scope : {scope_token('kind', scope.kind)}")
    return " AND ".join(conditions)


def _weighed(
    database: Database, plan: Plan, ranked: list[tuple[int, float]], scope: Scope, times: Times, day: float
) -> tuple[list[Hit], list[Hit]]:
    """The hits, best first, and those that are left out for being deleted or replaced."""
    if not plan.question.is_short:
        from agentm_recall.index.long_questions import rescored  # here, because a short one does without

        ranked = rescored(plan, Contents(database, plan.lexicon, (number for number, _ in ranked)), ranked)
    notes = database.by_id(number for number, _ in ranked)
    hits: list[Hit] = []
    dead: list[Hit] = []
    for number, rank in ranked:
        if number not in notes:
            continue
        note, is_replaced = notes[number]
        is_current = note.status not in (DELETED, SUPERSEDED) and not is_replaced
        hit = Hit(note, number, -rank, _signals(note, plan, scope, times, day), is_current)
        (hits if is_current or scope.with_dead else dead).append(hit)
    hits.sort(key=lambda hit: (not hit.is_current, -hit.score, hit.note.key))
    return hits, dead


def _signals(note: Note, plan: Plan, scope: Scope, times: Times, day: float) -> dict[str, float]:
    signals = {}
    home = scope.project or scope.near
    if home is not None and note.project != home:
        signals["another project" if note.project else "personal"] = _ELSEWHERE if note.project else _PERSONAL
    written = day_of(note.changed)
    if written is not None:
        age = max(0.0, day - written)
        signals["recency"] = 1 + (_FRESH_IF_ASKED if times.wants_latest else _FRESH) * 0.5 ** (age / _HALF_LIFE)
        if times.is_bounded and not times.includes(written):
            signals["another time"] = _OTHER_TIME
    if note.confidence is not None:
        signals["confidence"] = 1 - _DOUBT * (1 - note.confidence)
    if note.is_overdue:
        signals["stale"] = _OVERDUE
    if plan.question.is_pasted and note.kind == "known-issue":
        signals["known issue"] = _KNOWN_ISSUE
    return signals


def _newer_first(hits: list[Hit], contents: Contents) -> list[Hit]:
    """Of notes that are nearly alike, and that nobody marked, the newest takes the best place of them."""
    hits = list(hits)
    for place in range(min(_COMPARED, len(hits))):
        for other in range(place + 1, min(_COMPARED, len(hits))):
            first, second = hits[place], hits[other]
            if (
                first.is_current == second.is_current
                and first.note.project == second.note.project
                and second.note.changed > first.note.changed
                and contents.are_alike(first.number, second.number)
            ):
                hits[place], hits[other] = second, first
    return hits


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
