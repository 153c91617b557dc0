"""The tools that look: search, one note, and what to know before working."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import content_hash
from agentm_recall.fence import visible, visible_line
from agentm_recall.index.search import Scope
from agentm_recall.layout import DEFAULT_PHASE, NOBODY, PHASES, PROJECTS
from agentm_recall.note import stored_text
from agentm_recall.phases import recalled
from agentm_recall.searching import CLOSE, OPEN, search_both, search_notes
from agentm_recall.tool_place import place_for_reading
from agentm_recall.two_stores import notes_of_bound, notes_of_named, own_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_kernel.plugin import Info, ToolCall
    from agentm_recall.searching import Found

_USUAL_LIMIT = 8
_LONGEST_SNIPPET = 300
_PAGE = 60_000
"""Characters of a note in one answer; agent hosts cut longer ones, and do not always say so."""


def search(
    call: ToolCall, query: str, kind: str | None = None, limit: int = _USUAL_LIMIT, project: str | None = None
) -> dict[str, object]:
    """The notes that answer the query, best first, a few lines each."""
    place = place_for_reading(call, project)
    scope = Scope(project=place.project if place.folder is not None else NOBODY, kind=kind)

    def progress(label: str, items: Sequence[Info]) -> Iterable[Info]:
        for number, item in enumerate(items):
            if number % 100 == 0:
                call.progress(number, len(items), label)
            yield item

    if place.bound is not None:
        answer = search_both(call.device, place.bound, query, scope, limit=limit, progress=progress)
    else:
        answer = search_notes(
            place.backend, query, scope, limit=limit, environ=call.device.environ, progress=progress
        )
    fields = {**place.said, "found": len(answer.found)}
    if answer.dead:
        fields["left_out"] = f"{answer.dead} that match but were deleted or replaced"
    if answer.notices:
        fields["notices"] = [visible_line(notice) for notice in answer.notices]
    if not answer.found:
        return {**fields, "text": "no note says anything about this"}
    return {**fields, "text": "\n".join(map(_entry, answer.found))}


def _entry(found: Found) -> str:
    note = found.hit.note
    facts = ", ".join(
        filter(
            None,
            (
                note.kind,
                note.changed[:10],
                note.source and f"from {note.source}",
                found.store and f"store {found.store}",
            ),
        )
    )
    snippet = visible_line(found.snippet.replace(OPEN, "").replace(CLOSE, ""), _LONGEST_SNIPPET)
    return f"- {visible_line(note.key)} ({visible_line(facts)}): {visible_line(note.title)}\n    {snippet}"


def read(call: ToolCall, note: str, offset: int = 0, project: str | None = None) -> dict[str, object]:
    """One note, byte for byte but for what no reader would see."""
    place, locator = place_for_reading(call, project).find(call, note)
    text = stored_text(place.backend, locator)
    shown = text[offset : offset + _PAGE]
    fields = {**place.said, "key": locator.key, "hash": content_hash(text)}
    left = len(text) - offset - len(shown)
    if left > 0:
        fields["left_out"] = f"{left:,} characters: go on with offset {offset + len(shown)}"
    return {**fields, "text": visible(shown) or "(nothing here)"}


def recall(
    call: ToolCall,
    phase: str = DEFAULT_PHASE,
    query: str | None = None,
    budget: int | None = None,
    project: str | None = None,
) -> dict[str, object]:
    """What the process seam would say, for any project that was named."""
    place = place_for_reading(call, project)
    if place.bound is not None:
        known = phase if phase in PHASES else DEFAULT_PHASE
        parts = (
            own_notes(call.device, phase=known, query=query, limit=budget),
            notes_of_bound(place.here, known, query, budget)
            if place.here is not None
            else notes_of_named(place.backend, place.folder, place.bound, known, query, budget),
        )
        text = "\n".join(part for part in parts if part)
    else:
        folder = place.folder or place.backend.resolve(PROJECTS, NOBODY)
        text = recalled(
            place.backend, place.project, folder, phase, budget=budget, query=query, environ=call.device.environ
        )
    return {**place.said, "text": text or "memory holds nothing for this project yet"}
