"""What a store is, said with a dictionary: the model that backends are compared with.

A verb of the model gives what the store must give, or raises `Refusal` with the errors that it may raise instead.
Nothing here knows files, locks or Unicode forms; keys arrive normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    LocatorConflictError,
    NotFoundError,
    content_hash,
)

if TYPE_CHECKING:
    from agentm_kernel import AgentmError
    from agentm_kernel.seam.backend import Absent

    Condition = str | Absent | None


class Refusal(Exception):
    """The store must refuse with one of these."""

    def __init__(self, *errors: type[AgentmError]) -> None:
        super().__init__(*errors)
        self.errors = errors


class DictionaryStore:
    """Files by key, and the directories that were made."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.directories: set[str] = {""}

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, key: str) -> str:
        if key not in self.files:
            raise Refusal(NotFoundError)
        return self.files[key]

    def exists(self, key: str) -> bool:
        return key in self.files or key in self.directories

    def info(self, key: str) -> tuple[str, bool, int]:
        if key in self.directories:
            return key, True, 0
        return key, False, len(self.read(key).encode())

    def children(self, key: str) -> list[str]:
        if key not in self.directories:
            return []
        everything = self.files.keys() | self.directories - {""}
        return sorted(other for other in everything if _parent(other) == key)

    def walk(self, key: str) -> list[tuple[str, bool, int]]:
        found = []
        for child in self.children(key):
            found += [self.info(child), *self.walk(child)]
        return found

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, key: str, text: str, condition: Condition) -> str:
        if isinstance(condition, str) and (key not in self.files or content_hash(self.files[key]) != condition):
            raise Refusal(ConcurrentModificationError, LocatorConflictError)
        if condition is ABSENT and key in self.files:
            raise Refusal(ConcurrentModificationError)
        if key in self.directories:
            raise Refusal(LocatorConflictError)
        self._check_room(key)
        self.directories |= set(_above(key))
        self.files[key] = text
        return key

    def mkdir(self, key: str) -> str:
        if key in self.directories:
            return key
        if key in self.files:
            raise Refusal(LocatorConflictError)
        self._check_room(key)
        self.directories |= {*_above(key), key}
        return key

    def delete(self, key: str, condition: str | None) -> None:
        if key in self.directories:
            raise Refusal(LocatorConflictError)
        if key not in self.files:
            raise Refusal(NotFoundError)
        if condition is not None and content_hash(self.files[key]) != condition:
            raise Refusal(ConcurrentModificationError)
        del self.files[key]

    def _check_room(self, key: str) -> None:
        """Whether nothing stored stands in the way of `key`: a file above it, or another case of any of its names."""
        for place in (*_above(key), key):
            if place in self.files and place != key:
                raise Refusal(LocatorConflictError)
            if self.exists(place):
                continue
            if any(other.casefold() == place.casefold() for other in self.children(_parent(place))):
                raise Refusal(LocatorConflictError)


def _parent(key: str) -> str:
    return key.rpartition("/")[0]


def _above(key: str) -> list[str]:
    """The directories above `key`, outermost first, without the root."""
    parts = key.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
