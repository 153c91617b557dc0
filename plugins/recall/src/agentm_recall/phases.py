"""What an agent gets back in a phase of its work: which notes, in which order, within how much room."""

from __future__ import annotations

import os
import sys
import time

from agentm_kernel.plugin import AgentmError, Locator
from agentm_recall.catalog import gather, is_elsewhere
from agentm_recall.digest import Digest
from agentm_recall.layout import (
    ALWAYS_LOAD,
    ANCHOR,
    DEFAULT_PHASE,
    PHASES,
    PROJECTS,
    folder_in_project,
    project_folder,
)
from agentm_recall.note import DELETED
from agentm_recall.supersession import superseded_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.catalog import Catalog
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
        sys.stderr.write(f"agentm recall: {error.message}\n")
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
) -> str:
    """`phase_recall` for a store and a project's folder that are known already."""
    phase = phase if phase in PHASES else DEFAULT_PHASE
    deadline = time.monotonic() + PATIENCE
    catalog = gather(
        backend, (Locator(ALWAYS_LOAD), home), deadline=deadline, environ=environ, outlines=not is_elsewhere(backend)
    )
    digest = Digest(f"project {project}, phase {phase}", budget_of(phase, budget, environ), catalog)
    current = _current(catalog, digest)
    standing = [note for note in current if note.key.startswith(f"{ALWAYS_LOAD}/")]
    own = [note for note in current if not note.key.startswith(f"{ALWAYS_LOAD}/")]
    if query and query.strip():
        wanted = _matching(backend, own, query, project, home, deadline, environ, digest)
    else:
        wanted = _of_phase(own, phase, digest)
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
    current = []
    for note in catalog.notes:
        if note.status == DELETED:
            digest.leave_out("deleted")
        elif note.key in replaced:
            digest.leave_out("superseded")
        else:
            current.append(note)
    return current


def _of_phase(notes: list[Note], phase: str, digest: Digest) -> list[Note]:
    """The anchor first, then the newest of each of the phase's folders in turn, so that no folder starves."""
    folders: dict[str, list[Note]] = {name: [] for name in PHASES[phase]}
    for note in notes:
        place = folder_in_project(note.key)
        if place in folders:
            folders[place].append(note)
        else:
            digest.leave_out(f"not for phase {phase}")
    for found in folders.values():
        found.sort(key=lambda note: note.key)
        found.sort(key=lambda note: note.changed, reverse=True)
    queues = [found for name, found in folders.items() if name != ANCHOR]
    longest = max(map(len, queues), default=0)
    in_turn = [found[turn] for turn in range(longest) for found in queues if turn < len(found)]
    return folders.get(ANCHOR, []) + in_turn


def _matching(
    backend: StorageBackend,
    notes: list[Note],
    query: str,
    project: str,
    home: Locator,
    deadline: float,
    environ: Mapping[str, str] | None,
    digest: Digest,
) -> list[Note]:
    """The notes that answer the query, best first."""
    from agentm_recall.index.maintenance import RecallIndex
    from agentm_recall.index.search import Scope, search

    by_key = {note.key: note for note in notes}
    hits = RecallIndex(backend, environ).ask(
        lambda opened: search(opened.database, query, Scope(project=project), limit=len(notes) or 1),
        (home,),
        may_write=False,
        deadline=deadline,
        look_only=is_elsewhere(backend),
    )
    found = [by_key[hit.note.key] for hit in hits if hit.note.key in by_key]
    for _ in range(len(notes) - len(found)):
        digest.leave_out("not matching the query")
    return found
