"""Which entries of a settings file start agentm: what we wrote, what an older agentm wrote, what a user wrote.

An entry is a handler (a command and perhaps arguments), or a group of them (`{"matcher": …, "hooks": [handler, …]}`).
A group in which somebody else's handler stands too is never ours: only our handler in it is.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPED = "hooks"
"""The key under which a group has its handlers."""

_PROGRAMS = ("agentm", "agentm.exe")
_EVENT_OF_PROMPT = ("prompt", "turn-start")


def command_of(value: Any) -> str:
    """What an entry starts, if that is agentm: `hook` with its verb, or `mcp`; nothing for anything else."""
    return _common([_started(handler)[1] for handler in handlers_of(value)])


def program_of(value: Any) -> str:
    """The program of such an entry, as it is written there."""
    return _common([_started(handler)[0] for handler in handlers_of(value)])


def is_like(value: Any) -> Callable[[Any], bool]:
    """Whether an entry is the one that we wrote, or what somebody made of it that still starts us for the same."""
    wanted = command_of(value)
    return lambda found: found == value or (wanted != "" and command_of(found) == wanted)


def handlers_of(value: Any) -> list[Any]:
    """The handlers of a group; anything else is one itself."""
    grouped = value.get(GROUPED) if isinstance(value, dict) else None
    return grouped if isinstance(grouped, list) else [value]


def _common(found: list[str]) -> str:
    return found[0] if found and len(set(found)) == 1 else ""


def _started(handler: Any) -> tuple[str, str]:
    words = _words(handler)
    for number, word in enumerate(words):
        verb = words[number + 1] if number + 1 < len(words) else ""
        if os.path.basename(word) not in _PROGRAMS:
            continue
        if verb == "mcp":
            return word, verb
        if verb in ("hook", "event") and number + 2 < len(words):
            event = words[number + 2]
            return word, f"hook {'prompt' if event in _EVENT_OF_PROMPT else event}"
    return "", ""


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            return value.split()
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    if isinstance(value, dict):
        command, arguments = value.get("command", value.get("bash")), value.get("args")
        # With arguments beside it, the command is one word, whatever is in it.
        is_one = isinstance(command, str) and isinstance(arguments, list)
        return [*([command] if is_one else _words(command)), *_words(arguments)]
    return []
