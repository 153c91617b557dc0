"""What an agent gets back in a phase of its work: which notes, in which order, within how much room."""

from __future__ import annotations

import os
import sys
import time

from agentm_kernel.plugin import AgentmError, Locator, one_line
from agentm_recall.catalog import overview
from agentm_recall.digest import Digest
from agentm_recall.index.outlines import shelved
from agentm_recall.index.place import is_elsewhere
from agentm_recall.layout import (
    ALWAYS_LOAD,
    ANCHOR,
    DEFAULT_PHASE,
    PERSONAL,
    PHASES,
    PROJECTS,
    project_folder,
)
from agentm_recall.note import DELETED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.catalog import Catalog
    from agentm_recall.index.outlines import Shelf
    from agentm_recall.note import Brief

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
    digest = Digest(f"project {heading or project}, phase {phase}", room, catalog, left_out)
    shelves = _current(catalog, digest)
    standing = sorted(shelves.pop(ALWAYS_LOAD, ()), key=lambda note: note.key)
    count = sum(map(len, shelves.values()))
    if query and query.strip():
        from agentm_recall.matching import matching

        found = matching(catalog, query, project, places, deadline, environ, digest)
        current_hits = sum(not digest.is_of_the_past(note.key) for note in found)
        digest.leave_out("not matching the query", max(0, count + catalog.more - current_hits))
        return digest.text(standing, found, len(found), wanted_first=phase == "documenter")
    digest.leave_unnamed(catalog.more)
    text = digest.text(standing, in_order(shelves, phase), count, wanted_first=phase == "documenter")
    return text or _in_conflict(backend, places)


def _in_conflict(backend: StorageBackend, places: tuple[Locator, ...]) -> str:
    """Where there is no note to be shown: that there are some whose versions nobody has settled."""
    from agentm_recall.in_conflict import line_about, notes_in_conflict

    line = line_about(notes_in_conflict(backend, places))
    return f"[agentm] {line}. Ask the operator; `agentm doctor` says how.\n" if line else ""


def budget_of(phase: str, given: int | None, environ: Mapping[str, str] | None = None) -> int:
    """Tokens: the argument, else the variable of the phase, else the table. Only positive numbers count."""
    if given is not None and given > 0:
        return given
    text = (os.environ if environ is None else environ).get(BUDGET_VARIABLE + phase.upper(), "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else BUDGETS[phase]


def _current(catalog: Catalog, digest: Digest) -> dict[str, Shelf]:
    """The notes that are neither deleted nor replaced, by shelf."""
    digest.leave_out("deleted", catalog.deleted)
    digest.leave_out("superseded", catalog.superseded)
    if not catalog.notes and not any(shelf.claims for shelf in catalog.shelves.values()):
        return catalog.shelves
    from agentm_recall.supersession import superseded_keys

    candidates = catalog.candidates
    replaced = superseded_keys(candidates)
    current = []
    for note in candidates:
        if note.status == DELETED:
            digest.leave_out("deleted")
        elif note.key in replaced:
            digest.leave_out("superseded")
        else:
            current.append(note)
    return shelved(current)


def in_order(shelves: Mapping[str, Shelf], phase: str) -> Iterator[Brief]:
    """Every note. The phase decides which come first: its anchor, then its folders in turn, the newest of each.

    Every fourth place is for what the phase does not name, in turn as well: a fact among a thousand decisions is
    heard too.
    """
    first = PHASES[phase]
    if ANCHOR in first:
        yield from shelves.get(ANCHOR, ())
    named = _in_turn([shelves[name] for name in first if name in shelves and name != ANCHOR])
    unnamed = _in_turn([shelves[name] for name in sorted(shelves) if name not in first])
    has_more = True
    while has_more:
        has_more = False
        for queue in (*(named,) * _OTHERS_AFTER, unnamed):
            note = next(queue, None)
            if note is not None:
                has_more = True
                yield note


def _in_turn(shelves: list[Shelf]) -> Iterator[Brief]:
    """The newest note of each shelf, then the second of each, and so on: no shelf starves."""
    queues = [iter(shelf) for shelf in shelves]
    while queues:
        for queue in tuple(queues):
            note = next(queue, None)
            if note is None:
                queues.remove(queue)
            else:
                yield note
