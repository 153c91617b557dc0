"""What notes add to a person's page: what agents propose, and notes that want to be looked at again."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import Panel, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Device, HookContext
    from agentm_recall.note import Note

_OPEN_KINDS = {"open-question": 120, "known-issue": 180}
"""After so many days without a word, a question is answered or forgotten, and an issue fixed or still there."""
_MOST = 8


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing without a store."""
    if context.store is None:
        return None
    from agentm_recall import page_inbox

    settling = {
        "accept": partial(page_inbox.accept_shown, context),
        "reject": partial(page_inbox.reject_shown, context),
    }
    return [
        Panel("inbox", "Proposed by agents", "decide", partial(page_inbox.show, context), settling),
        Panel("review", "Look at these again", "decide", partial(_review, context.device)),
    ]


def _review(device: Device, _query: Mapping[str, str]) -> list[Mapping[str, Any]]:
    from agentm_kernel.plugin import Locator
    from agentm_recall.gathering import gather
    from agentm_recall.supersession import superseded_keys

    catalog = gather(device.store(), [Locator()], deadline=time.monotonic() + 5)
    dead = superseded_keys(catalog.notes)
    rows = [
        {"status": "fail", "label": key, "text": f"cannot be read: {why}", "hint": "open the file in an editor"}
        for key, why in catalog.problems
    ]
    rows += [
        {
            "status": "warn",
            "label": note.title,
            "text": f"its front matter cannot be read: {note.problem}",
            "note": note.key,
        }
        for note in catalog.notes
        if note.problem
    ]
    old = sorted(
        (note for note in catalog.notes if note.key not in dead and _is_stale(note)), key=lambda n: n.changed
    )
    rows += [
        {
            "status": "info",
            "label": note.title,
            "text": f"{note.kind}, not touched since {note.changed[:10]}",
            "note": note.key,
        }
        for note in old[:_MOST]
    ]
    if len(old) > _MOST:
        rows.append(
            {
                "status": "info",
                "label": f"{len(old) - _MOST} more",
                "text": "are as old; they come when these are settled",
            }
        )
    return [{"type": "rows", "rows": rows}] if rows else []


def _is_stale(note: Note) -> bool:
    from agentm_recall.index.search import day_of

    days = _OPEN_KINDS.get(note.kind)
    written = day_of(note.changed)
    return (
        days is not None and note.status == "active" and written is not None and time.time() / 86_400 - written > days
    )
