"""The record of imports in the store: which origin became which note, and what both looked like then.

It makes a second run cheap and lets it tell a change in the source from an edit of the note. It is not what makes
imports single: a note says itself where it came from, so a run that was killed before it wrote the record loses
nothing.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import ConfigError, Locator, NotFoundError, content_hash, layout, update

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend

FOLDER = f"{layout.META}/imports"
_EVERY = 2.0
"""Seconds between two writes of the record while notes are written."""


class Entry(NamedTuple):
    key: str
    item: str
    """Of what the source said."""
    note: str
    """Of the note as it was written."""


def digest(text: str) -> str:
    """What the record keeps of a text."""
    return content_hash(text)[:16]


class Ledger:
    """The record of one source."""

    def __init__(self, backend: StorageBackend, source: str) -> None:
        self._backend = backend
        self._locator = Locator(f"{FOLDER}/{source}.json")
        self._entries = self._read()
        self._new: dict[str, Entry] = {}
        self._written = time.monotonic()

    def _read(self) -> dict[str, Entry]:
        try:
            return self._parse(self._backend.read(self._locator))
        except NotFoundError:
            return {}

    def _parse(self, text: str) -> dict[str, Entry]:
        try:
            items = json.loads(text)["items"]
            return {str(origin): Entry(*map(str, entry)) for origin, entry in items.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ConfigError(
                f"the record of imports '{self._locator}' cannot be understood: {error}",
                hint="move it away: notes that were imported are recognised without it",
            ) from error

    def get(self, identity: str) -> Entry | None:
        return self._new.get(identity) or self._entries.get(identity)

    def add(self, identity: str, entry: Entry) -> None:
        if self.get(identity) != entry:
            self._new[identity] = entry
        if self._new and time.monotonic() - self._written > _EVERY:
            self.save()

    def save(self) -> None:
        """Unite what is new with what others have recorded meanwhile."""
        if not self._new:
            return
        update(self._backend, self._locator, self._united)
        self._entries |= self._new
        self._new = {}
        self._written = time.monotonic()

    def _united(self, text: str | None) -> str:
        entries = {**({} if text is None else self._parse(text)), **self._new}
        lines = ",\n".join(
            f"{json.dumps(origin)}: {json.dumps(list(entry))}" for origin, entry in sorted(entries.items())
        )
        return f'{{"version": 1, "items": {{\n{lines}\n}}}}\n'
