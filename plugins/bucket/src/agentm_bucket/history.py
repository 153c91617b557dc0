"""Who wrote an object last, carried in its metadata: for each of the latest writers, the number of its last write.

A reply can get lost after the server has stored a note, and by the time the writer looks, others may have built on
it. The bytes then tell nothing: only this list says whether the write is among the note's ancestors. Without it an
edit would be made twice, or given up although it was made.
"""

from __future__ import annotations

import base64
import os
import threading

LIMIT = 64
"""How many writers are kept: about 1 KB, half of what object stores allow for metadata."""

FIELD = "agentmwrites"  # letters only: Azure takes nothing else for a name


class History(tuple[str, ...]):
    """`writer.number`, one for each writer, the latest last."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str | None) -> History:
        return cls((text or "").split())

    def __str__(self) -> str:
        return " ".join(self)

    def then(self, write: str) -> History:
        """The history of what is written on top."""
        others = [earlier for earlier in self if _writer(earlier) != _writer(write)]
        return History((*others, write)[-LIMIT:])

    def reaches_back_to(self, base: History) -> bool:
        """Whether a write on top of `base` would be in this list if it had happened.

        Entries drop out oldest first, and only when there are too many: so it would, if nothing has dropped out, or
        if something of `base`, which is older, is still there. Writers of `base` that are gone from a list that is
        not full show that another program has replaced the object, and its list with it.
        """
        if len(self) >= LIMIT:
            return any(write in self for write in base)
        return {_writer(write) for write in base} <= {_writer(write) for write in self}


class _Writer(threading.local):
    """One thread of one process: it has at most one write under way."""

    def __init__(self) -> None:
        self.name = base64.urlsafe_b64encode(os.urandom(6)).decode()
        self.process = os.getpid()
        self.writes = 0


_this_thread = _Writer()


def new_write() -> str:
    """An id that no other write has."""
    if _this_thread.process != os.getpid():  # a fork must not go on under its parent's name
        _this_thread.__init__()  # type: ignore[misc]
    _this_thread.writes += 1
    return f"{_this_thread.name}.{_this_thread.writes:x}"


def _writer(write: str) -> str:
    return write.partition(".")[0]
