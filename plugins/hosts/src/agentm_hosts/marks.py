"""A mark of each note as it was when a session was given it: by it, the session is told of a change."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentm_kernel.plugin import HookCall, StorageBackend

_LEAST_TIME = 0.1
"""Seconds. An answer that is late because a store hangs must not wait for that store once more."""


def marks_of(call: HookCall, keys: Collection[str]) -> list[str]:
    """The mark of each note now; empty where a hook cannot tell: it is gone, lies elsewhere, or no time is left.

    Half of that time is for what comes after: a session may have been given many notes, and a store may be slow.
    """
    if not keys or (left := call.time_left) < _LEAST_TIME:
        return []
    from agentm_hosts.receipt import receipt_of
    from agentm_kernel.plugin import AgentmError, Locator, layout

    stores: dict[bool, StorageBackend | None] = {}
    found = []
    for key in keys:
        if call.time_left <= left / 2:
            found.append("")
            continue
        is_own = key.startswith(f"{layout.PERSONAL}/")  # in the default store, wherever the project's are
        try:
            if is_own not in stores:
                stores[is_own] = None
                store = call.device.store() if is_own else call.device.memory(call.cwd).backend
                stores[is_own] = store if store is not None and store.capabilities.device_files else None
            chosen = stores[is_own]
            version = chosen.info(Locator(f"{key.removesuffix('.md')}.md")).version if chosen is not None else ""
        except AgentmError:
            version = ""
        found.append(receipt_of(version) if version else "")
    return found


def unchanged(call: HookCall, given: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of the notes that are still what the session was given, as far as that is known."""
    now = dict(zip(given, marks_of(call, given), strict=False))
    return tuple(key for key, mark in given.items() if not (mark and now.get(key)) or mark == now[key])
