"""Every event of an agent's life that a hook can report: one list, for `agentm event`, plugins and policies alike.

An event is told to all plugins (`agentm_event`). Which agent host reports it, and under which name there, is the
host adapter's to know; the table says it for people. `idle-N` and `conversation-idle-N` stand for a number of
seconds, and `host:NAME` is an agent host's own: both are events too.
"""

from __future__ import annotations

from agentm_kernel.seam import Frozen


class Event(Frozen):
    """One event: when it happens, what agent hosts call it, and what its payload holds."""

    name: str
    when: str
    reported_as: str = ""
    payload: str = ""


_SESSION = "session_id, cwd"
_TURN = "session_id, turn_id, cwd"
_PROMPT = "UserPromptSubmit, userPromptSubmitted"

EVENTS = (
    Event("workspace-open", "a workspace is opened", "", "cwd"),
    Event("workspace-close", "a workspace is closed", "", "cwd"),
    Event("session-start", "a session starts, resumes or goes on after compaction", "SessionStart", _SESSION),
    Event("session-end", "a session ends", "SessionEnd", _SESSION),
    Event("conversation-start", "a conversation starts", "", "conversation_id"),
    Event("conversation-end", "a conversation ends", "", "conversation_id"),
    Event("prompt", "the user has sent a prompt", f"{_PROMPT}, BeforeAgent", f"{_TURN}, prompt"),
    Event("turn-start", "the agent starts to work on a prompt", "UserPromptSubmit", _TURN),
    Event("turn-end", "the agent has answered", "Stop, AfterAgent, agentStop", _TURN),
    Event("turn-error", "the agent has failed to answer", "StopFailure", _TURN),
    Event("tool-call", "a tool is about to be called", "PreToolUse, BeforeTool", f"{_TURN}, tool_name"),
    Event("tool-result", "a tool has answered", "PostToolUse, AfterTool", f"{_TURN}, tool_name"),
    Event("tool-error", "a tool has failed", "PostToolUseFailure", f"{_TURN}, tool_name"),
    Event("pre-compact", "the context is about to be compacted", "PreCompact, PreCompress", _SESSION),
    Event("post-compact", "the context has been compacted", "PostCompact, SessionStart", _SESSION),
    Event("write", "a note was written", "", "locator"),
    Event("delete", "a note was deleted", "", "locator"),
    Event("flush", "what waits to be sent is to be sent now", "", ""),
    Event("manual", "the operator asks for it", "", ""),
    Event("manual-persist", "the operator asks for a checkpoint", "", ""),
    Event("heartbeat", "a scheduler asks for what is due", "", ""),
)

NAMES = frozenset(event.name for event in EVENTS)

PULLING = frozenset({"workspace-open", "session-start", "conversation-start", "turn-start"})
"""At these, a store elsewhere is asked for what is new."""
_ENDS = ("turn-end", "conversation-end", "session-end", "workspace-close")
PUSHING = frozenset({*_ENDS, "pre-compact", "flush", "manual"})
"""At these, what was written is sent to a store elsewhere."""


def is_event(name: str) -> bool:
    """Whether there is such an event: in the list, with a number of seconds, or an agent host's own."""
    if name in NAMES:
        return True
    owner, colon, rest = name.partition(":")
    if colon:
        return bool(owner and rest)
    stem, _, number = name.rpartition("-")
    return stem in ("idle", "conversation-idle") and number.isascii() and number.isdigit() and number.strip("0") != ""
