"""Is a change on the disk when the verb returns? The calls that send it there are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_prove.trial import Broken

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory


def run(laboratory: Laboratory) -> str:
    complaints = laboratory.fresh().opened().ask("watched_changes")
    if complaints:
        raise Broken("; ".join(f"{what}: {why} before it was called done" for what, why in complaints))
    return "a new, a changed, a longer and a deleted note: bytes and names were sent to the disk first"
