"""The operator's own notes, above or beside the agent's store, and the line that each write to them leaves behind."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, FileStore, Locator, LocatorConflictError, content_hash, update
from agentm_obsidian_vault.kept import UNSEEN
from agentm_obsidian_vault.names import is_tool_file
from agentm_obsidian_vault.presence import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_kernel.plugin import Absent, StorageBackend

AUDIT = Locator("_meta/personal-writes.md")


class PersonalFiles(FileStore):
    """The write floor on the personal root. No key leads into the agent's store, whatever it is called on the way.

    It is the operator who edits here: what they save in the moment of a write is kept beside the note.
    """

    has_other_writers = True

    def __init__(
        self, root: str, store: str, *, size_limit: int, is_elsewhere: Callable[[os.stat_result], bool]
    ) -> None:
        super().__init__(root, size_limit=size_limit)
        self._store = store
        self._is_elsewhere = is_elsewhere

    def is_hidden(self, name: str) -> bool:
        return is_tool_file(name)

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        if self._is_elsewhere(status):
            raise elsewhere(locator)

    def is_at_hand(self, status: os.stat_result) -> bool:
        return not self._is_elsewhere(status)

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return locator.beside(f"{UNSEEN} {digest[:8]}")

    def shown_path(self, locator: Locator) -> str:
        """What the operator is asked with."""
        return self.device_path(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        place = locator
        while place.key:
            place = place.parent
            if _is_same_folder(self.device_path(place), self._store):
                raise LocatorConflictError(
                    f"'{locator}' leads into the agent's store, which is not part of the personal space",
                    hint="choose a place outside the folder of the store",
                )
        return super().write(locator, content, if_match=if_match)


def _is_same_folder(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except FileNotFoundError:
        return False


@contextmanager
def audited(store: StorageBackend, locator: Locator, content: str) -> Iterator[None]:
    """Leave a line in the store before the write, and another if it does not come about."""
    what = f"`{locator}` ({len(content.encode()):,} bytes, sha256 {content_hash(content)[:16]})"
    _append(store, f"{what} on the operator's word")
    try:
        yield
    except AgentmError as error:
        _append(store, f"{what} was not written: {error.message}")
        raise


def _append(store: StorageBackend, sentence: str) -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())
    line = f"- {when} {' '.join(sentence.split())}\n"
    update(store, AUDIT, lambda text: (text or "# Writes to the personal space\n\n") + line)
