"""Recall for a project whose notes are in a further store: the operator's own notes come from the default one.

Scores of two indexes do not compare, so each store has a part of the room and a heading of its own, and answers to a
prompt are merged by their rank. The process seam asks for each part by itself: a store that hangs, or cannot be had,
costs its own part only.
"""

from __future__ import annotations

import sys

from agentm_kernel.plugin import AgentmError, Locator, one_line
from agentm_recall.layout import NOBODY, PERSONAL, project_of
from agentm_recall.phases import budget_of, recalled
from agentm_recall.provider import recall_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentm_kernel.plugin import Device, Resolution, StorageBackend
    from agentm_recall.prompting import Answer

_OWN_PART = 3
"""The operator's notes get one part in so many of the room, at most."""


def own_notes(device: Device, *, phase: str, query: str | None = None, limit: int | None = None) -> str:
    """The operator's notes, in a part of the room."""
    room = budget_of(phase, limit) // _OWN_PART
    return recalled(
        device.store(),
        "every project (your own notes, in the default store)",
        Locator(PERSONAL),
        phase,
        budget=room,
        query=query,
        personal=False,
        left_out="Left out of your own notes",  # what is left out of the other store's is not known here
    )


def notes_of_bound(resolution: Resolution, phase: str, query: str | None, limit: int | None) -> str:
    """The project's notes, in the rest of it."""
    room = budget_of(phase, limit)
    title = f"{{}} (in the store '{resolution.store_name}')"
    return recall_project(resolution, phase, query, room - room // _OWN_PART, personal=False, title=title)


def notes_of_named(
    backend: StorageBackend, folder: Locator | None, store: str, phase: str, query: str | None, limit: int | None
) -> str:
    """The same for a project that is not open, and was named."""
    if folder is None:
        return ""
    room = budget_of(phase, limit)
    return recalled(
        backend,
        folder.name,
        folder,
        phase,
        budget=room - room // _OWN_PART,
        query=query,
        personal=False,
        heading=f"{folder.name} (in the store '{store}')",
    )


def answers_of_both(
    resolution: Resolution, ask: Callable[[StorageBackend, str, Sequence[Locator]], list[Answer]]
) -> list[Answer]:
    """What the project's store and the default one answer to a prompt, merged by rank."""
    from itertools import zip_longest

    theirs: list[Answer] = []
    if resolution.backend is not None and resolution.project_locator is not None and resolution.is_claimed:
        asked = ask(resolution.backend, resolution.slug, (resolution.project_locator,))
        theirs = [found for found in asked if project_of(found[1])]  # what is personal there is not the operator's
    own: list[Answer] = []
    if resolution.device is not None:
        try:
            own = ask(resolution.device.store(), NOBODY, (Locator(PERSONAL),))
        except AgentmError as error:
            sys.stderr.write(f"agentm recall: {one_line(error.message)}\n")
    return [found for pair in zip_longest(theirs, own) for found in pair if found is not None]
