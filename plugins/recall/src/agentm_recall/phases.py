"""What an agent gets back in a phase of its work: which notes, in which order, within how much room."""

from __future__ import annotations

import os
import sys
import time

from agentm_kernel.plugin import AgentmError, Locator, one_line
from agentm_recall.digest import Digest
from agentm_recall.layout import (
    ALWAYS_LOAD,
    ANCHOR,
    DEFAULT_PHASE,
    PERSONAL,
    PHASES,
    PROJECTS,
    kind_folder,
    project_folder,
)
from agentm_recall.note import DELETED
from agentm_recall.overview import overview
from agentm_recall.reach import is_elsewhere
from agentm_recall.supersession import superseded_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.catalog import Catalog
    from agentm_recall.index.asked import Opened
    from agentm_recall.index.search import Result
    from agentm_recall.note import Note

BUDGETS = {
    "setup": 4000,
    "plan": 6000,
    "work": 6000,
    "review": 4000,
    "release": 6000,
    "bugfix": 6000,
    "documenter": 10_000,
}
"""Tokens."""
BUDGET_VARIABLE = "HARNESS_RECALL_BUDGET_"

PATIENCE = 1.0
"""Seconds for reading what the index does not know. A hook is waiting."""


_MOST_MATCHING = 200
"""Notes that a query is answered with: more than any budget shows."""
_OTHERS_AFTER = 3
"""So many notes of the phase's own kinds, then one of the others."""


def phase_recall(
    phase: str,
    project: str,
    *,
    budget: int | None = None,
    query: str | None = None,
    backend: StorageBackend | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """The notes for a phase of work on a project, as Markdown; `""` if there are none. Never raises.

    What cannot be had is a line on standard error, as in `recall_here`.
    """
    try:
        if backend is None:
            from agentm_kernel import select_backend

            backend = select_backend(environ=environ, read_only=True)
        folder = Locator(f"{PROJECTS}/{project}") if is_elsewhere(backend) else project_folder(backend, project)
        return recalled(backend, project, folder, phase, budget=budget, query=query, environ=environ)
    except AgentmError as error:
        sys.stderr.write(f"agentm recall: {one_line(error.message)}\n")
        return ""


def recalled(
    backend: StorageBackend,
    project: str,
    home: Locator,
    phase: str,
    *,
    budget: int | None = None,
    query: str | None = None,
    environ: Mapping[str, str] | None = None,
    personal: bool = True,
    heading: str | None = None,
    left_out: str = "Left out",
) -> str:
    """`phase_recall` for a store and a project's folder that are known already; without what is not the project's
    unless it is `personal` too. `left_out` begins the last line.
    """
    phase = phase if phase in PHASES else DEFAULT_PHASE
    deadline = time.monotonic() + PATIENCE
    places = (Locator(PERSONAL), home) if personal else (home,)
    room = budget_of(phase, budget, environ)
    catalog = overview(backend, places, room=room, deadline=deadline, environ=environ)
    digest = Digest(f"project {heading or project}, phase {phase}", room, catalog, environ, left_out)
    current = _current(catalog, digest)
    standing = [note for note in current if note.key.startswith(f"{ALWAYS_LOAD}/")]
    others = [note for note in current if not note.key.startswith(f"{ALWAYS_LOAD}/")]
    if query and query.strip():
        wanted = _matching(catalog, query, project, places, deadline, environ, digest)
        current_hits = sum(not digest.is_of_the_past(note.key) for note in wanted)
        digest.leave_out("not matching the query", max(0, len(others) + catalog.more - current_hits))
    else:
        wanted = in_order(others, phase)
        digest.leave_unnamed(catalog.more)
    standing.sort(key=lambda note: note.key)
    return digest.text(standing, wanted, wanted_first=phase == "documenter")


def budget_of(phase: str, given: int | None, environ: Mapping[str, str] | None = None) -> int:
    """Tokens: the argument, else the variable of the phase, else the table. Only positive numbers count."""
    if given is not None and given > 0:
        return given
    text = (os.environ if environ is None else environ).get(BUDGET_VARIABLE + phase.upper(), "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else BUDGETS[phase]


def _current(catalog: Catalog, digest: Digest) -> list[Note]:
    """The notes that are neither deleted nor replaced."""
    replaced = superseded_keys(catalog.notes)
    digest.leave_out("deleted", catalog.deleted)
    digest.leave_out("superseded", catalog.superseded)
    current = []
    for note in catalog.notes:
        if note.status == DELETED:
            digest.leave_out("deleted")
        elif note.key in replaced:
            digest.leave_out("superseded")
        else:
            current.append(note)
    return current


def in_order(notes: list[Note], phase: str) -> list[Note]:
    """Every note. The phase decides which come first: its anchor, then its folders in turn, the newest of each.

    Every fourth place is for what the phase does not name, in turn as well: a fact among a thousand decisions is
    heard too.
    """
    folders: dict[str, list[Note]] = {name: [] for name in PHASES[phase]}
    others: dict[str, list[Note]] = {}
    for note in notes:
        place = kind_folder(note.key)
        (folders[place] if place in folders else others.setdefault(place, [])).append(note)
    first = folders.pop(ANCHOR, [])
    named, unnamed = _in_turn(folders), _in_turn(dict(sorted(others.items())))
    order = list(first)
    for start in range(0, max(len(named), _OTHERS_AFTER * len(unnamed)), _OTHERS_AFTER):
        order += named[start : start + _OTHERS_AFTER]
        order += unnamed[start // _OTHERS_AFTER : start // _OTHERS_AFTER + 1]
    return order


def _in_turn(folders: dict[str, list[Note]]) -> list[Note]:
    """The newest note of each folder, then the second of each, and so on: no folder starves."""
    queues = list(folders.values())
    for found in queues:
        found.sort(key=lambda note: note.key)
        found.sort(key=lambda note: note.changed, reverse=True)
    longest = max(map(len, queues), default=0)
    return [found[turn] for turn in range(longest) for found in queues if turn < len(found)]


def confidence_of(result: Result) -> str:
    """What the last line says about how sure it is that the notes answer."""
    if result.is_answer:
        return f" Confidence that this answers the query: {result.confidence:.2f}."
    return f" No note seems to answer the query (confidence {result.confidence:.2f})."


def _matching(
    catalog: Catalog,
    query: str,
    project: str,
    places: Sequence[Locator],
    deadline: float,
    environ: Mapping[str, str] | None,
    digest: Digest,
) -> list[Note]:
    """The notes that answer the query, best first; where it asks for the past, replaced ones too."""
    from agentm_recall.index.reading import IndexReader
    from agentm_recall.index.search import Scope

    elsewhere = is_elsewhere(catalog.backend)

    def question(opened: Opened) -> Result:
        found = opened.search(query, Scope(project=project), limit=_MOST_MATCHING)
        if elsewhere:
            catalog.add_bodies(opened.database, [hit.note for hit in found.hits])
        return found

    index = IndexReader(catalog.backend, environ)
    result = index.ask(question, places, may_write=False, deadline=deadline, look_only=elsewhere)
    digest.conclude(confidence_of(result))
    hits = [hit for hit in result.hits if not hit.note.key.startswith(f"{ALWAYS_LOAD}/")]
    for hit in hits:
        if not hit.is_current:
            digest.show_past(hit.note.key)
    return [hit.note for hit in hits]
