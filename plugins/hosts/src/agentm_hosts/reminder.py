"""`plugins.hosts.remind`: once per session, at the end of a turn, the agent is asked to save what it decided."""

from __future__ import annotations

from agentm_hosts.ledger import was_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import HookCall

_TEXT = (
    "Before you stop: if this session decided something that a later one must know, save it with agentm now, one "
    "note for each decision. If there is nothing, just stop."
)


def reminder(call: HookCall, session: str) -> str:
    """The request; nothing unless the operator wants it, or when the agent stops because of it."""
    if (
        not session
        or call.device.config.get("plugins.hosts.remind") is not True
        or call.payload.get("stop_hook_active")
    ):
        return ""
    return "" if was_said(call.device.state_dir, call.host, session, "turn-end") else _TEXT
