"""When a configured clone is synced: at the events of an agent's life. A policy's store has its own plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_git.settings import PROTOCOL
from agentm_kernel.plugin import (
    PULLING,
    PUSHING,
    StorageConflictError,
    StorageIOError,
    SyncTrigger,
    WorkingCopy,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentm_git.backend import GitStore
    from agentm_kernel.plugin import HookContext, SyncOutcome


@hookimpl
def agentm_event(name: str, payload: Mapping[str, object], context: HookContext) -> str | None:
    """One line about what was done. An origin that cannot be reached is said, and is no failure: what was written is
    committed, and the next event sends it. Diverged histories that the policy does not settle are a failure.
    """
    if name not in (*PULLING, *PUSHING) or context.device.config.storage_backend != PROTOCOL:
        return None
    from agentm_git.backend import GitStore
    from agentm_git.sealed_records import unite_sealed

    selected = context.device.store(read_only=False)
    store = selected.facet(WorkingCopy)
    if not isinstance(store, GitStore):
        return None
    trigger = _trigger(name, payload)
    done: list[SyncOutcome] = []
    try:
        done.append(store.commit(f"agentm: notes at {name}", (), trigger))
        if store.settings.remote:
            done += _with_origin(store, trigger)
            unite_sealed(selected)
    except StorageConflictError:
        raise
    except StorageIOError as error:
        return f"git: {error.message}; what was written is kept on this device"
    return _line(done)


def _with_origin(store: GitStore, trigger: SyncTrigger) -> Iterable[SyncOutcome]:
    if trigger.event in PUSHING:
        yield store.push(trigger)
        return
    pulled = store.clone.pulled_at()
    if pulled is None or not 0 <= time.time() - pulled < store.settings.pull_ttl:
        yield store.pull(trigger)


def _trigger(name: str, payload: Mapping[str, object]) -> SyncTrigger:
    def text(*names: str) -> str | None:
        return next((value for key in names if isinstance(value := payload.get(key), str) and value), None)

    conversation = text("conversationId", "conversation_id", "session_id")
    return SyncTrigger(name, conversation, text("turnId", "turn_id"), text("operator", "operatorId"))


def _line(done: list[SyncOutcome]) -> str | None:
    said = [part for outcome in done for part in (outcome.note, outcome.url) if part]
    return f"git: {'; '.join(said)}" if said else None
