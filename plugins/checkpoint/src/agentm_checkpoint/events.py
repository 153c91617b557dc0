"""Checkpoints that nobody has to think of, on events that agent hosts and operators raise.

`heartbeat` and `turn-end` take one if anything has changed, at most every ten minutes; `manual-persist` takes one at
once, because somebody asked.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.plugin import StorageIOError, hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext

REGULAR = ("heartbeat", "turn-end")
ON_REQUEST = "manual-persist"
_MARK = "last-heartbeat"


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    """Take a checkpoint if this event asks for one and anything has changed; what was taken, in a line."""
    if name not in (*REGULAR, ON_REQUEST):
        return None
    from agentm_checkpoint.capture import open_image, take
    from agentm_checkpoint.directories import folder_of, store_id
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.local_state import gather_known
    from agentm_checkpoint.replaced import open_history
    from agentm_checkpoint.settings import settings_of
    from agentm_checkpoint.texts import counted

    device = context.device
    settings = settings_of(device)
    backend = below_guard(device.store(read_only=False))
    if backend.stamp_text() is None:
        return None  # nobody has written to this store yet
    folder = folder_of(device.state_dir, store_id(backend))
    mark = os.path.join(folder, _MARK)
    if name != ON_REQUEST and _age(mark) < settings.heartbeat_minutes * 60:
        return None
    history = open_history(backend, device)
    history.prune()
    image = open_image(backend, device)
    damage = image.damage
    local = gather_known(folder, context.cwd, history.head())
    try:
        taken = take(backend, image, author=settings.author, reason=name, local=local)
    except StorageIOError as error:
        if name == ON_REQUEST:
            raise
        return f"no checkpoint was taken: {error.message}"  # the store cannot be had now; a later event takes one
    _touch(mark)
    if not taken.is_new:
        return f"nothing has changed since checkpoint {taken.snapshot.id}" if name == ON_REQUEST else None
    return (
        f"checkpoint {taken.snapshot.id} of {counted(taken.snapshot.root.notes, 'file')}"
        + (f"; not in it, because they are no notes: {len(taken.skipped):,}" if taken.skipped else "")
        + (f"; {damage}: what was whole was kept, and a copy set aside" if damage else "")
    )


def _age(path: str) -> float:
    """Seconds since the last look; a clock that was set back makes it look again rather than wait."""
    try:
        age = time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")
    return age if age >= 0 else float("inf")


def _touch(path: str) -> None:
    from agentm_checkpoint.directories import make_folder

    make_folder(os.path.dirname(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.utime(path)
    finally:
        os.close(descriptor)
