"""Versions that lost and are kept: `_meta/conflicts/<the note's key>/<why>-<when>-<hash>.md`.

`unseen` versions were displaced by a write that did not know of them: nobody has looked at them yet, so they are
listed as conflicts. `kept` ones lost when a conflict was resolved: they only wait there in case they are missed.
"""

from __future__ import annotations

from agentm_kernel.plugin import CONFLICTS, MAX_KEY_BYTES, Locator

UNSEEN = "unseen"
KEPT = "kept"

_ROOM = 100  # for the folder, the reason, the time, the hash and an extension


def place_for(note: Locator, digest: str, why: str) -> Locator:
    """Where the version of `note` with this content hash goes now."""
    import time

    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return folder_of(note).child(f"{why}-{when}-{digest[:12]}{note.short_suffix}")


def note_of(kept: Locator) -> Locator | None:
    """The note that a kept version belongs to; `None` for anything else below the folder."""
    above = kept.parent
    is_inside = above.key.startswith(f"{CONFLICTS.key}/")
    if not is_inside or not kept.name.startswith((f"{UNSEEN}-", f"{KEPT}-")):
        return None
    return Locator(above.key.removeprefix(f"{CONFLICTS.key}/"))


def is_unseen(kept: Locator) -> bool:
    return kept.name.startswith(f"{UNSEEN}-")


def folder_of(note: Locator) -> Locator:
    """Where the versions of `note` are kept; for a folder, those of the notes below it."""
    if len(note.key.encode()) <= MAX_KEY_BYTES - _ROOM:
        return CONFLICTS.child(note.key)
    from agentm_kernel.plugin import content_hash

    return CONFLICTS.child(f"long-{content_hash(note.key)}")  # the key would leave no room for the version's own name
