"""Searching the notes of a store, with what a person wants to see of each answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError
from agentm_recall.in_conflict import line_about, notes_in_conflict
from agentm_recall.index.database import Failures
from agentm_recall.index.differences import silent
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.plan import plan_of
from agentm_recall.index.search import WEIGHTS, Scope, expression_of
from agentm_recall.layout import NOBODY, project_of
from agentm_recall.lookup import folders_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import Device, StorageBackend
    from agentm_recall.index.asked import Opened
    from agentm_recall.index.database import Database
    from agentm_recall.index.differences import Progress
    from agentm_recall.index.search import Hit
    from agentm_recall.note import Note

OPEN, CLOSE = "\x01", "\x02"
"""Around the words that were found. No note can hold them: they are removed first."""

_SHOWN_COLUMNS = ("title", "name", "body", "hidden")
_SNIPPET_WORDS = 24
_MOST_WORDS = 8


@dataclass(frozen=True)
class Found:
    """One answer."""

    hit: Hit
    snippet: str
    """A line of the note around the words that were found."""
    words: dict[str, list[str]]
    """The words that were found, by where they stand in the note; only if asked for."""
    store: str | None = None
    """The name of the store that has it, where more than one was searched."""


@dataclass(frozen=True)
class Answer:
    """All answers, best first, and what there is to know about how they came about."""

    found: list[Found]
    dead: int
    """Notes that match but were deleted or replaced; they are left out unless asked for."""
    notices: tuple[str, ...]
    confidence: float = 0.0
    """From 0 to 1: how much of what was asked the best notes cover."""
    is_answer: bool = False
    """Whether that is enough to take them for an answer."""


def search_notes(
    backend: StorageBackend,
    question: str,
    scope: Scope | None = None,
    *,
    limit: int = 10,
    explain: bool = False,
    environ: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Answer:
    """The notes that answer `question`, the index being brought up to date first.

    An index that cannot be written is no obstacle: then the search happens in memory, and a notice says why.
    """
    wanted = scope or Scope()
    index = RecallIndex(backend, environ)

    def ask(opened: Opened) -> Answer:
        return answer(opened, question, wanted, limit, explain=explain)

    found = index.ask(ask, may_write=True, progress=progress)
    if index.note_changes([one.hit.note.key for one in found.found if not one.hit.is_fresh]):
        said = found.notices
        found = index.ask(ask, may_write=False, look_only=True)  # the index trusted a note that has changed
        found = replace(found, notices=tuple(dict.fromkeys((*said, *found.notices))))
    if found.found:
        return found
    waiting = line_about(notes_in_conflict(backend, folders_of(backend, wanted.project)))
    return replace(found, notices=(*found.notices, waiting)) if waiting else found


def answer(opened: Opened, question: str, scope: Scope, limit: int, *, explain: bool) -> Answer:
    """`search_notes` in an index that is open."""
    result = opened.search(question, scope, limit=limit)
    expressions = {
        database: _expression(database, question, scope) for database in {opened.database_of(h) for h in result.hits}
    }
    found = [
        _found(database, expressions[database], hit, explain=explain)
        for hit in result.hits
        for database in (opened.database_of(hit),)
    ]
    notices = (*opened.notices, *_line_about(_unread(opened, scope)))
    return Answer(found, result.dead, notices, result.confidence, result.is_answer)


def _unread(opened: Opened, scope: Scope) -> list[Note]:
    """Notes that could not be read when they were indexed: whether they answer, nobody can tell."""
    notes = [note for note in opened.database.unread() if note.key not in opened.hidden]
    notes += opened.fresh.unread() if opened.fresh is not None else []
    return [note for note in notes if scope.project is None or project_of(note.key) in (None, scope.project)]


def _line_about(notes: Sequence[Note]) -> list[str]:
    """What is said of them, if there are any: not being found is another thing."""
    if not notes:
        return []
    more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
    return [f"{len(notes)} note{'s' * (len(notes) != 1)} cannot be searched: {notes[0].problem}{more}"]


def _expression(database: Database, question: str, scope: Scope) -> str:
    plan = plan_of(database, question)
    return (expression_of(plan, scope) if plan else None) or ""


def _found(database: Database, expression: str, hit: Hit, *, explain: bool) -> Found:
    body = list(WEIGHTS).index("body")
    with Failures():
        row = database.connection.execute(
            "SELECT snippet(texts, ?, ?, ?, '…', ?) FROM texts WHERE texts MATCH ? AND rowid = ?",
            (body, OPEN, CLOSE, _SNIPPET_WORDS, expression, hit.number),
        ).fetchone()
        if row is None:  # a note that another one led to: it has none of the words
            row = database.connection.execute("SELECT substr(body, 1, 200) FROM texts WHERE rowid = ?", (hit.number,))
            row = row.fetchone()
    words = _words(database, expression, hit.number) if explain else {}
    return Found(hit, " ".join(row[0].split()), words)


def _words(database: Database, expression: str, number: int) -> dict[str, list[str]]:
    words = {}
    for position, column in enumerate(_SHOWN_COLUMNS):
        with Failures():
            text = database.connection.execute(
                "SELECT highlight(texts, ?, ?, ?) FROM texts WHERE texts MATCH ? AND rowid = ?",
                (position, OPEN, CLOSE, expression, number),
            ).fetchone()
        marked = [part.partition(CLOSE)[0].lower() for part in text[0].split(OPEN)[1:]] if text else []
        if marked:
            words[column] = list(dict.fromkeys(marked))[:_MOST_WORDS]
    return words


# ------------------------------------------------------------------------------------------------ two stores


def search_both(
    device: Device,
    name: str,
    question: str,
    scope: Scope,
    *,
    limit: int,
    explain: bool = False,
    progress: Progress = silent,
) -> Answer:
    """What the store `name`, which this project is bound to, and the default store answer.

    Scores of two indexes do not compare, so the answers are merged by their rank. In a search for one project, the
    default store answers with the operator's own notes. A store that cannot be had is a notice beside what the other
    one has.
    """
    own = scope if scope.project is None else Scope(NOBODY, scope.near, scope.kind, scope.with_dead)
    answers: list[Answer] = []
    problems: list[AgentmError] = []
    for store, wanted in ((name, scope), (None, own)):
        try:
            backend = device.store(store)
            answer = search_notes(
                backend, question, wanted, limit=limit, explain=explain, environ=device.environ, progress=progress
            )
            answers.append(_marked(answer, store))
        except AgentmError as error:
            problems.append(error)
    if problems and not any(answer.found for answer in answers):
        raise problems[0]  # "nothing found" would say that there is nothing
    found = [one for rank in range(limit) for answer in answers for one in answer.found[rank : rank + 1]]
    return Answer(
        found[:limit],
        sum(answer.dead for answer in answers),
        (*(notice for answer in answers for notice in answer.notices), *(error.message for error in problems)),
        max(answer.confidence for answer in answers),
        any(answer.is_answer for answer in answers),
    )


def _marked(answer: Answer, store: str | None) -> Answer:
    """The answer of one store, each note with its name. What is personal comes from the default store only."""
    found = [one for one in answer.found if store is None or project_of(one.hit.note.key) is not None]
    return replace(answer, found=[replace(one, store=store or "default") for one in found])
