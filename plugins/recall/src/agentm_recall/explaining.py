"""Why a note is recalled, or why not: what recall would show is made, and the note looked for in it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator
from agentm_recall.catalog import overview
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.outlines import shelved
from agentm_recall.index.search import Scope
from agentm_recall.layout import ALWAYS_LOAD, DEFAULT_PHASE, PERSONAL, PHASES, kind_folder, project_of
from agentm_recall.lookup import find_note
from agentm_recall.note import ACTIVE, DELETED, SUPERSEDED, parse_note, stored_text
from agentm_recall.out_of_reach import NOWHERE, is_nowhere
from agentm_recall.phases import PATIENCE, in_order, recalled
from agentm_recall.provider import scope_of
from agentm_recall.supersession import names, superseded_keys

if TYPE_CHECKING:
    from agentm_kernel.plugin import Resolution, StorageBackend
    from agentm_recall.index.asked import Opened
    from agentm_recall.index.search import Result
    from agentm_recall.note import Note

_FAR = 200
"""So many answers of a query are looked through."""
_ROOM = 6000
_UNCLAIMED = "the store, as this device has it, does not say that '{}' is this project"


def explain(resolution: Resolution, *, note: str, phase: str, query: str | None, limit: int | None) -> str:
    """A few lines for a person."""
    backend, home = resolution.backend, resolution.project_locator
    if backend is None or home is None:
        return "no store is selected, so nothing is recalled\n"
    locator = find_note(backend, note, [home, Locator(PERSONAL), Locator()])
    found, _ = parse_note(locator.key, stored_text(backend, locator))
    project, home = scope_of(resolution, home)
    if not resolution.is_claimed and project_of(locator.key) == resolution.slug:
        return f"{locator.key.removesuffix('.md')}: not shown\n  {_UNCLAIMED.format(resolution.slug)}\n"
    text = recalled(backend, project, home, phase, budget=limit, query=query)
    lines = [f"{locator.key.removesuffix('.md')}: {_verdict(locator, text)}"]
    lines += _reasons(backend, resolution.slug, home, found)
    if len(lines) == 1:
        asked = query is not None and bool(query.strip())
        lines += _by_query(backend, project, home, found, query or "") if asked else []
        lines += [] if asked else _by_phase(backend, home, found, phase, limit)
    return "\n".join(lines) + "\n"


def _verdict(locator: Locator, text: str) -> str:
    return "shown" if f"\n{locator.key.removesuffix('.md')} (" in text else "not shown"


def _reasons(backend: StorageBackend, project: str, home: Locator, note: Note) -> list[str]:
    """What a rule says about the note, whatever the question."""
    if is_nowhere(note.key):
        return [f"  it lies {NOWHERE}: a search finds it, and no session starts with it"]
    if note.status == DELETED:
        return ["  it was forgotten: `agentm save --update` brings it back"]
    replaced = replaced_by(backend, home, note)
    if replaced:
        return [f"  {replaced.removesuffix('.md')} has replaced it"]
    if note.status == SUPERSEDED:
        return ["  its status says that another note has replaced it"]
    if note.project not in (None, project):
        return [f"  it is of the project {note.project}, and this is {project}"]
    if note.status != ACTIVE:
        return [f"  its status is {note.status}, which counts as active"]
    return []


def replaced_by(backend: StorageBackend, home: Locator, note: Note) -> str | None:
    """The key of the note, personal or of the project at `home`, that keeps this one out of recall."""

    def claimants(opened: Opened) -> list[Note]:
        return opened.claimants(note.slug)

    for other in RecallIndex(backend).ask(claimants, (Locator(PERSONAL), home), may_write=False):
        is_named = other.status != DELETED and any(names(reference, note.key) for reference in other.supersedes)
        if is_named and other.key != note.key and note.key in superseded_keys((note, other)):
            return other.key
    return None


def _by_query(backend: StorageBackend, project: str, home: Locator, note: Note, query: str) -> list[str]:
    def look(opened: Opened) -> Result:
        return opened.search(query, Scope(project=project), limit=_FAR)

    result = RecallIndex(backend).ask(look, (Locator(PERSONAL), home), may_write=False)
    keys = [hit.note.key for hit in result.hits]
    if note.key.startswith(f"{ALWAYS_LOAD}/"):
        return ["  it is always loaded, whatever is asked"]
    if note.key not in keys:
        return [f"  it has no word of the query, or {_FAR} notes answer better"]
    place = keys.index(note.key)
    hit = result.hits[place]
    factors = "".join(f" * {name} {factor:.2f}" for name, factor in hit.signals.items())
    lines = [f"  answer {place + 1} of {len(keys)}: score {hit.score:.3g} = text {hit.text_score:.3g}{factors}"]
    if place < len(result.confidences):
        lines.append(f"  it covers the query with a confidence of {result.confidences[place]:.2f}")
    return lines


def _by_phase(backend: StorageBackend, home: Locator, note: Note, phase: str, limit: int | None) -> list[str]:
    if note.key.startswith(f"{ALWAYS_LOAD}/"):
        return ["  it is always loaded, as far as half of the room goes"]
    phase = phase if phase in PHASES else DEFAULT_PHASE
    catalog = overview(backend, (Locator(PERSONAL), home), room=limit or _ROOM, deadline=time.monotonic() + PATIENCE)
    candidates = catalog.candidates
    dead = superseded_keys(candidates) | {other.key for other in candidates if other.status == DELETED}
    others = [other for other in candidates if not other.key.startswith(f"{ALWAYS_LOAD}/")]
    order = [other.key for other in in_order(shelved(others), phase) if other.key not in dead]
    named = kind_folder(note.key) in PHASES[phase]
    first = "reads its kind first" if named else f"reads {', '.join(PHASES[phase])} first"
    if note.key not in order:
        return [f"  the phase {phase} {first}; a hundred newer notes of its kind come before it"]
    total = len(order) + catalog.more
    return [f"  the phase {phase} {first}; it is number {order.index(note.key) + 1} of {total}, as the room allows"]
