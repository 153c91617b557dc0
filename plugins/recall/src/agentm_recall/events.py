"""Keeping the index warm: what changed during a turn or a session is indexed at its end.

An agent may wait for these hooks, so building a large index is left to commands that can show how far they are, and
listing a large store to a process in the background. That one also looks whether notes name what is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, StorageError, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext

_UPDATES = frozenset({"turn-end", "session-end", "stop"})
_JOINING = frozenset({"session-start", "conversation-start", "workspace-open"})
"""When the notes of a store elsewhere are looked at: others write there, and hooks know only what the index has."""


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    if name not in _UPDATES | _JOINING:
        return None
    from agentm_recall.index.database import IndexUnavailable
    from agentm_recall.index.maintenance import RecallIndex
    from agentm_recall.index.place import is_elsewhere

    try:
        backend = context.device.store(read_only=True)
    except AgentmError:
        return None  # the hook that needs the store says so
    if name in _JOINING and not is_elsewhere(backend):
        return None
    try:
        index = RecallIndex(backend, context.device.environ)
        changes = index.keep_warm()
        if name not in _JOINING:
            index.keep_up(context.cwd)
    except IndexUnavailable:
        return None  # derived, and somebody else's turn: the next search catches up
    except StorageError as error:  # a store elsewhere does not answer: recall goes on with what it knows
        return f"recall: the index was not brought up to date: {error.message}"
    return (
        f"recall: {changes.indexed} note{'s' * (changes.indexed > 1)} indexed"
        if changes is not None and changes.indexed
        else None
    )
