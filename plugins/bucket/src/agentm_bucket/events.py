"""When the copy on this host is brought up to date: at the events of an agent's life. Hooks never wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.backend import PROTOCOL, BucketBackend
from agentm_kernel.plugin import PULLING, PUSHING, DeviceCopy, StorageIOError, StorageReadOnlyError, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext, StorageBackend, Transfer

_MAY_BE_BUCKETS = (PROTOCOL, "policy")


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    """Nothing, where no bucket is selected. A bucket that cannot be reached is said, and is no failure: the copy
    keeps what was written, and the next event sends it. Nor is one that must not be written: nothing is sent there.
    """
    if name not in (*PULLING, *PUSHING):
        return None
    selected = _selected(context)
    store = None if selected is None else selected.facet(DeviceCopy)
    if selected is None or not isinstance(store, BucketBackend):
        return None
    try:
        done = store.push(selected) if name in PUSHING else store.pull(selected)
    except (StorageIOError, StorageReadOnlyError) as error:
        return f"bucket: {error.message}; the copy on this device {_age(store)} and keeps what was written"
    return _line(done)


def _selected(context: HookContext) -> StorageBackend | None:
    config = context.device.config
    if config.storage_backend not in _MAY_BE_BUCKETS and config.shortcut is None:
        return None
    return context.device.store(read_only=False)


def _age(store: BucketBackend) -> str:
    age = store.copy_age()
    return "was never up to date" if age is None else f"is {age / 60:.0f} min old"


def _line(done: Transfer) -> str | None:
    parts = [f"{count} {what}" for count, what in ((done.fetched, "fetched"), (done.sent, "sent")) if count]
    if done.conflicts:
        parts.append(f"both sides changed, your version is kept as {', '.join(done.conflicts)}")
    return f"bucket: {'; '.join(parts)}" if parts else None
