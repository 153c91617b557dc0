"""Standard output belongs to the answer of the command or server that runs: what a plugin prints goes to stderr.

`state-path` is read by shell scripts and an MCP server speaks its protocol there, so one stray line of a plugin that
greets its user, or of a program that it starts, would break either.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

_lock = allocate_lock()
_depth = 0
_stream: TextIO | None = None
_descriptor: int | None = None


class StdoutToStderr:
    """While a plugin's code runs. May be nested, and entered by several threads: the last to leave restores."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            if _depth == 0:
                _flush(sys.stdout)
                _stream, sys.stdout = sys.stdout, sys.stderr
                _descriptor = _divert() if _is_only_thread() else None
            _depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            _depth -= 1
            if _depth == 0:
                try:
                    _flush(_stream)  # a plugin may have kept the stream, and what it wrote is still in there
                finally:
                    sys.stdout, _stream = _stream, None
                    _restore(_descriptor)
                    _descriptor = None


def _flush(stream: TextIO | None) -> None:
    if stream is not None and not stream.closed:
        stream.flush()


def _is_only_thread() -> bool:
    """Another thread may be writing its answer to the descriptor at this moment: then only the stream is diverted."""
    return len(sys._current_frames()) == 1  # noqa: SLF001 - `threading` would have to be imported to say the same


def _divert() -> int | None:
    """Point the descriptor of stdout at stderr; the copy to restore it from, `None` if either is closed."""
    try:
        saved = os.dup(1)
    except OSError:
        return None
    try:
        os.dup2(2, 1)
    except OSError:
        os.close(saved)
        return None
    return saved


def _restore(saved: int | None) -> None:
    if saved is not None:
        os.dup2(saved, 1)
        os.close(saved)
