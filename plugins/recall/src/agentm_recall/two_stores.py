"""Recall for a project whose notes are in a further store: the operator's own notes come from the default one.

Scores of two indexes do not compare, so each store has a part of the room and a heading of its own. One that cannot
be had costs its part only, and says so.
"""

from __future__ import annotations

import sys

from agentm_kernel.plugin import AgentmError, one_line
from agentm_recall.layout import PERSONAL
from agentm_recall.phases import budget_of, recalled
from agentm_recall.provider import recall_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Resolution

_OWN_PART = 3
"""The operator's notes get one part in so many of the room."""


def recall_from_both(resolution: Resolution, phase: str, query: str | None, limit: int | None) -> str:
    """The operator's notes, then the project's."""
    room = budget_of(phase, limit)
    own = _own_notes(resolution, phase, query, room // _OWN_PART)
    name = resolution.store_name
    if resolution.backend is None:
        theirs = f"# Memory of this project: the store '{name}' cannot be had; `agentm store show {name}` says why\n"
    else:
        theirs = recall_project(resolution, phase, query, room - room // _OWN_PART, personal=False)
    return "\n".join(part for part in (own, theirs) if part)


def _own_notes(resolution: Resolution, phase: str, query: str | None, room: int) -> str:
    from agentm_kernel.plugin import Locator

    if resolution.device is None:
        return ""
    try:
        store = resolution.device.store()
        title = "every project (your own notes)"
        return recalled(store, title, Locator(PERSONAL), phase, budget=room, query=query, personal=False)
    except AgentmError as error:
        sys.stderr.write(f"agentm recall: {one_line(error.message)}\n")
        return ""
