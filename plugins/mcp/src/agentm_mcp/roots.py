"""Which folders the agent works in: what Claude Code says, else what the host has open, else where we started."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_mcp.channel import Channel
    from agentm_mcp.messages import Message

CLAUDE_VARIABLE = "CLAUDE_PROJECT_DIR"
_PREFIX = "agentm-roots-"
_PATIENCE = 1.0
"""Seconds that the first call waits for the host to name its folders."""


class Roots:
    """The host's open folders. It is asked once it is ready, and again when it says that they changed."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._asked = 0
        self._known: tuple[str, ...] = ()
        self._started = _directory()
        self._pending = allocate_lock()

    def ask(self) -> None:
        """Ask the host; its answer comes later, among its other messages."""
        self._asked += 1
        self._pending.acquire(blocking=False)
        self._channel.send({"jsonrpc": "2.0", "id": f"{_PREFIX}{self._asked}", "method": "roots/list"})

    def take(self, message: Message) -> None:
        """An answer of the host; anything but the answer to the last question is let be."""
        if message.id != f"{_PREFIX}{self._asked}":
            return
        listed = message.result.get("roots") if isinstance(message.result, dict) else None
        entries = listed if isinstance(listed, list) else []
        paths = [_path(entry["uri"]) for entry in entries if isinstance(entry, dict) and entry.get("uri")]
        # Where none of them is here, they stay: another folder's notes would be taken for theirs.
        self._known = tuple(dict.fromkeys(filter(os.path.isdir, paths))) or tuple(paths)
        if self._pending.locked():
            self._pending.release()

    def folders(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """At least one folder."""
        named = environ.get(CLAUDE_VARIABLE, "")
        if named and os.path.isdir(named):
            return (named,)
        self._wait()
        # A folder that was moved is followed. One that was removed stays named: it is no other, and no empty memory.
        return self._known or (_directory() or self._started or os.sep,)

    def _wait(self) -> None:
        """A host that never answers is waited for once, and not longer than a person would notice."""
        deadline = time.monotonic() + _PATIENCE
        while self._pending.locked() and time.monotonic() < deadline:
            time.sleep(0.005)
        if self._pending.locked():
            try:
                self._pending.release()
            except RuntimeError:
                pass  # the answer came just now


def _directory() -> str:
    """Where this process is; nothing where that was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _path(uri: object) -> str:
    """The folder of this machine that a `file:` URI names; any other URI as it is, which is no folder here."""
    if not isinstance(uri, str) or not uri.startswith("file://"):
        return str(uri)
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        parts = urlsplit(uri)
        return url2pathname(parts.path) if parts.netloc.lower() in ("", "localhost") else uri
    except ValueError:
        return uri
