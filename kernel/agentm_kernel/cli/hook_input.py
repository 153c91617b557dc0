"""What an agent host sends to a hook, on standard input."""

from __future__ import annotations

import _thread
import os

from agentm_kernel.errors import AgentmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_EVENT = 1 << 20
_PATIENCE_SECONDS = 1.0


def read_event() -> dict[str, Any]:
    """The event on standard input; nothing when a person runs the command, or when nothing comes.

    It is read until it is complete, and for a second at most: not every host closes the pipe.
    """
    chunks: list[bytes] = []
    finished = _thread.allocate_lock()
    finished.acquire()
    _thread.start_new_thread(_receive, (chunks, finished))
    finished.acquire(timeout=_PATIENCE_SECONDS)
    data = b"".join(chunks)
    if len(data) > LONGEST_EVENT:
        raise AgentmError(f"the host's event has more than {LONGEST_EVENT:,} bytes")
    return _parsed(data) if data.strip() else {}


def _receive(chunks: list[bytes], finished: _thread.LockType) -> None:
    try:
        room = LONGEST_EVENT
        while room >= 0 and not os.isatty(0) and (chunk := os.read(0, 1 << 16)):
            chunks.append(chunk)
            room -= len(chunk)
            if chunk.rstrip().endswith(b"}") and _is_complete(b"".join(chunks)):
                break
    except OSError:
        pass  # closed, or a directory: there is no event
    finally:
        finished.release()


def _is_complete(data: bytes) -> bool:
    try:
        _parsed(data)
    except AgentmError:
        return False
    return True


def _parsed(data: bytes) -> dict[str, Any]:
    from agentm_kernel.device.json_text import parse_bytes

    try:
        event = parse_bytes(data)
    except ValueError as error:
        raise AgentmError(f"the host's event is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise AgentmError("the host's event is not a JSON object")
    return event


def working_directory(event: dict[str, Any]) -> str | None:
    """Where the session starts, `None` for the current directory; a folder that is not there is an error."""
    roots = event.get("workspace_roots")  # Cursor's word for it
    cwd = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    if cwd is not None and not (isinstance(cwd, str) and os.path.isdir(cwd)):
        raise AgentmError(f"the host named {ascii(cwd)} as the working directory, and there is no such folder")
    return cwd
