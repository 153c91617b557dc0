"""A store that is a dictionary: the smallest backend that keeps the contract, and a fast one for tests.

It lives and dies with its process, so it declares nothing about other writers. Threads of one process may share it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import (
    ABSENT,
    MAX_CONTENT_BYTES,
    Capabilities,
    ConcurrentModificationError,
    Info,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageBackend,
    content_hash,
    decode_content,
    encode_content,
)

if TYPE_CHECKING:
    import builtins

    from agentm_kernel.plugin import Absent


class _Note(NamedTuple):
    data: bytes
    mtime: float
    version: str


class MemoryBackend(StorageBackend):
    """Notes in memory. With `sync` it claims to be shared between devices, for tests of what routes by that."""

    heavy_imports = ("threading", "typing")  # no hook ever loads it

    def __init__(self, *, sync: bool = False, size_limit: int = MAX_CONTENT_BYTES) -> None:
        self._capabilities = Capabilities(sync=sync, delete=True)
        self._size_limit = size_limit
        self._notes: dict[Locator, _Note] = {}
        self._directories = {Locator()}
        self._writes = 0
        self._lock = threading.RLock()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def describe(self) -> str:
        return "in the memory of this process"

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        return decode_content(self._note(locator).data, locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        with self._lock:
            stored = [*self._notes, *self._directories]
        return sorted(child for child in stored if child.key and child.parent == locator)

    def exists(self, locator: Locator) -> bool:
        return locator in self._notes or locator in self._directories

    def info(self, locator: Locator) -> Info:
        if locator in self._directories:
            return Info(locator, True, 0, 0.0, "directory")
        note = self._note(locator)
        return Info(locator, False, len(note.data), note.mtime, note.version)

    def _note(self, locator: Locator) -> _Note:
        note = self._notes.get(locator)
        if note is None:
            what = "is a directory, not a note" if locator in self._directories else "does not exist"
            raise NotFoundError(f"'{locator}' {what}")
        return note

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        data = encode_content(content, locator, limit=self._size_limit)
        with self._lock:
            if locator in self._directories:
                raise LocatorConflictError(f"'{locator}' is a directory, so no note can be stored there")
            self._check_condition(locator, if_match)
            if locator not in self._notes:
                self._make_room(locator)
            self._writes += 1
            self._notes[locator] = _Note(data, time.time(), str(self._writes))
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        with self._lock:
            if locator in self._notes:
                raise LocatorConflictError(f"'{locator}' is a note, so it cannot become a directory")
            if locator not in self._directories:
                self._make_room(locator)
                self._directories.add(locator)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        with self._lock:
            if locator in self._directories:
                raise LocatorConflictError(f"'{locator}' is a directory; only notes are deleted")
            self._note(locator)
            self._check_condition(locator, if_match)
            del self._notes[locator]

    def _check_condition(self, locator: Locator, if_match: str | Absent | None) -> None:
        if if_match is None:
            return
        note = self._notes.get(locator)
        stored = ABSENT if note is None else content_hash(note.data)
        if stored != if_match:
            raise ConcurrentModificationError(
                f"'{locator}' was not written: it is not what was expected",
                hint="read it again, redo the change, and write with the new hash",
            )

    def _make_room(self, locator: Locator) -> None:
        """Make the directories above `locator`, unless what is stored leaves no room for any of them or for it."""
        missing = [locator]
        while (parent := missing[-1].parent) not in self._directories:
            missing.append(parent)
        if parent_note := next((above for above in missing[1:] if above in self._notes), None):
            raise LocatorConflictError(f"'{parent_note}' is a note, so nothing can be stored below it")
        highest = missing[-1]  # whatever lies below it is new, so only its siblings can clash
        for other in self.list(highest.parent):
            if other.name.casefold() == highest.name.casefold():
                raise LocatorConflictError(
                    f"'{highest}' differs only in case from the stored '{other}'", hint="use the stored spelling"
                )
        self._directories.update(missing[1:])
