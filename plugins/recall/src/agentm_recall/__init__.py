"""Notes for coding agents: save a fact, and get the right ones back within a budget.

Every public name is importable from here and loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.documenter import resolve_documenter_context as resolve_documenter_context
    from agentm_recall.index.maintenance import RecallIndex as RecallIndex
    from agentm_recall.note import Note as Note, parse_note as parse_note
    from agentm_recall.phases import phase_recall as phase_recall
    from agentm_recall.saving import (
        Draft as Draft,
        Saved as Saved,
        forget_note as forget_note,
        save_note as save_note,
    )
    from agentm_recall.searching import search_notes as search_notes

_HOMES = {
    "Draft": "saving",
    "Note": "note",
    "RecallIndex": "index.maintenance",
    "Saved": "saving",
    "forget_note": "saving",
    "parse_note": "note",
    "phase_recall": "phases",
    "resolve_documenter_context": "documenter",
    "save_note": "saving",
    "search_notes": "searching",
}

__version__ = "0.2.0"
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'agentm_recall' has no attribute {name!r}")
    value: object = getattr(__import__(f"agentm_recall.{_HOMES[name]}", fromlist=[name]), name)
    globals()[name] = value
    return value
