"""The last few writes of an object, by id, carried in its metadata.

A reply can get lost after the server has stored a note, and by the time the writer looks, somebody may have built on
it. The bytes then tell nothing: only this list says whether the write is among the note's ancestors. Without it an
edit would be made twice.
"""

from __future__ import annotations

import os

LIMIT = 24
"""How many ids are kept: 24 of 12 digits are far below the 2 KB that object stores allow for metadata."""

FIELD = "agentmwrites"  # letters only: Azure takes nothing else for a name


class History(tuple[str, ...]):
    """Ids of writes, the newest last."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str | None) -> History:
        return cls((text or "").split())

    def __str__(self) -> str:
        return " ".join(self)

    def then(self, write: str) -> History:
        """The history of what is written on top."""
        return History((*self, write)[-LIMIT:])

    def reaches_back_to(self, base: History) -> bool:
        """Whether every write since `base` is in this list, so that one that is not in it did not happen."""
        return base[-1] in self if base else len(self) < LIMIT


def new_write() -> str:
    """An id that no other write has."""
    return os.urandom(6).hex()
