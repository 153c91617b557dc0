"""When the copy on this host is brought up to date: at the events of an agent's life. Hooks never wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.backend import PROTOCOL, BucketBackend
from agentm_kernel import hookimpl, select_backend
from agentm_kernel.errors import StorageIOError
from agentm_kernel.seam.layer import unwrap

if TYPE_CHECKING:
    from agentm_bucket.mirror import Synced
    from agentm_kernel import HookContext

_PULLING = ("session-start", "conversation-start", "turn-start")
_PUSHING = ("session-end", "conversation-end", "turn-end", "pre-compact", "flush")


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    """Nothing, where no bucket is selected. A bucket that cannot be reached is said, and is no failure: the copy
    keeps what was written, and the next event sends it.
    """
    if name not in (*_PULLING, *_PUSHING):
        return None
    store = _selected(context)
    if store is None:
        return None
    try:
        done = store.synchronise(pushing=name in _PUSHING)
    except StorageIOError as error:
        return f"bucket: {error.message}; the copy on this device {_age(store)} and keeps what was written"
    return _line(done)


def _selected(context: HookContext) -> BucketBackend | None:
    config = context.config
    if config is None or (config.storage_backend != PROTOCOL and config.storage_policy is None):
        return None
    store = unwrap(select_backend(environ=context.surroundings.environ))
    return store if isinstance(store, BucketBackend) else None


def _age(store: BucketBackend) -> str:
    age = store.copy_age()
    return "was never up to date" if age is None else f"is {age / 60:.0f} min old"


def _line(done: Synced) -> str | None:
    parts = [f"{count} {what}" for count, what in ((done.fetched, "fetched"), (done.sent, "sent")) if count]
    if done.conflicts:
        parts.append(f"both sides changed, your version is kept as {', '.join(done.conflicts)}")
    return f"bucket: {'; '.join(parts)}" if parts else None
