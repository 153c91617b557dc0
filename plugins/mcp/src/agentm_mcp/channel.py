"""The two pipes to the agent host: a message a line, and nothing else on them, whatever a plugin prints.

The server keeps both pipes under descriptors of its own. What was standard output leads to standard error from then
on, and what was standard input to nowhere: for prints, for C libraries, and for programs that a plugin starts.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST = 8 * 1024 * 1024
"""Bytes of one message. A note that an agent writes has a few thousand."""
_CHUNK = 65_536


class TooLong:
    """Stands in for a line that is longer than any message may be; it was read over."""


class Channel:
    """Reads lines from one descriptor and writes messages to another; several threads may write."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._lock = allocate_lock()
        self.is_open = True
        """Whether the other side still reads."""

    @classmethod
    def of_process(cls) -> Channel:
        """Take standard input and output away from everything else in this process."""
        reading, writing = os.dup(0), os.dup(1)  # not inherited by programs that are started
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        return cls(reading, writing)

    def lines(self) -> Iterator[bytes | TooLong]:
        """Every line that is not blank, until the other side closes its end or stops reading."""
        pending = b""
        is_too_long = False
        while self.is_open:
            chunk = os.read(self._reading, _CHUNK)
            *complete, rest = (chunk or b"\n").split(b"\n")
            for part in complete:
                line, pending = pending + part, b""
                if is_too_long or len(line) > LONGEST:
                    is_too_long = False
                    yield TooLong()
                elif line.strip():
                    yield line
            if not chunk:
                return
            pending += rest
            if len(pending) > LONGEST:
                pending, is_too_long = b"", True

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message, whole. If nobody reads any more, it is dropped, and the server will end."""
        try:
            data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
            data = json.dumps(message, separators=(",", ":")).encode()
        view = memoryview(data + b"\n")
        with self._lock:
            while view and self.is_open:
                try:
                    view = view[os.write(self._writing, view) :]
                except OSError:
                    self.is_open = False
