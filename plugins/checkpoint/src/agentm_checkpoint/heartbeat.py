"""Checkpoints that nobody has to think of: on `agentm event heartbeat`, at most one in ten minutes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext

EVENT = "heartbeat"
_MARK = "last-heartbeat"


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    """Take a checkpoint if the last look is long enough ago and anything has changed since."""
    if name != EVENT:
        return None
    from agentm_checkpoint.capture import open_image, take
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.places import folder_of, store_id
    from agentm_checkpoint.settings import settings_of
    from agentm_checkpoint.words import counted

    settings = settings_of(context.device)
    backend = below_guard(context.device.store(read_only=False))
    if backend.stamp_text() is None:
        return None  # nobody has written to this store yet
    mark = os.path.join(folder_of(context.device.state_dir, store_id(backend)), _MARK)
    if _age(mark) < settings.heartbeat_minutes * 60:
        return None
    image = open_image(backend, context.device.state_dir)
    taken = take(backend, image, author=settings.author, reason=EVENT)
    _touch(mark)
    if not taken.is_new:
        return None
    return f"checkpoint {taken.snapshot.id} of {counted(taken.snapshot.root.notes, 'note')}" + (
        f"; not in it, because they are no notes: {len(taken.skipped):,}" if taken.skipped else ""
    )


def _age(path: str) -> float:
    """Seconds since the last look; a clock that was set back makes it look again rather than wait."""
    try:
        age = time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")
    return age if age >= 0 else float("inf")


def _touch(path: str) -> None:
    with open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)):
        os.utime(path)
