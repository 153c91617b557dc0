"""Where versions of a note go that a write has displaced and nobody has seen."""

from __future__ import annotations

from agentm_kernel.seam import layout
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import Locator

CONFLICTS = Locator(layout.CONFLICTS)
_LONG_KEY = 400  # bytes


def conflict_place(note: Locator, digest: str, why: str) -> Locator:
    """Out of the way: `_meta/conflicts/<the note's key>/<why>-<hash>.md`."""
    if len(note.key.encode()) > _LONG_KEY:
        return last_resort(note, digest, why)
    return CONFLICTS.child(note.key, f"{why}-{digest[:12]}{note.short_suffix}")


def last_resort(note: Locator, digest: str, why: str = "unseen") -> Locator:
    """For a key that leaves no room for more, or that is spelled like another one."""
    return CONFLICTS.child(f"long-{content_hash(note.key)}", f"{why}-{digest[:12]}{note.short_suffix}")
