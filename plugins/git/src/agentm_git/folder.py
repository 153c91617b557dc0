"""The clone's folder, seen from git: which of its files are notes, and how they change without a lost edit."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from agentm_git.medium import CloneFolder
from agentm_kernel.plugin import (
    ABSENT,
    CONFLICTS,
    MAX_CONTENT_BYTES,
    ConcurrentModificationError,
    FileStore,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    conflict_place,
    content_hash,
    layout,
    store_mutex,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_kernel.plugin import StoreMutex

REGULAR = ("100644", "100755")
_PATIENCE = 10


class Folder:
    """The same files as the store has, by the paths that git knows them by, and as bytes."""

    def __init__(
        self,
        root: str,
        is_excluded: Callable[[str], bool] | None = None,
        sparse: Iterable[str] = (),
        size_limit: int = MAX_CONTENT_BYTES,
    ) -> None:
        self.root = root
        self.size_limit = size_limit
        self._files = FileStore(root, medium=CloneFolder(), size_limit=size_limit)
        self._tree = self._files.tree
        self._is_excluded = is_excluded
        self._sparse = tuple(part.strip("/") for part in sparse)

    def exclusively(self) -> StoreMutex:
        """The store's own mutex: no note is written by agentm while it is held."""
        return store_mutex(self.root)

    # -- which files --------------------------------------------------------------------------------------

    def is_note(self, path: str) -> bool:
        """Whether agentm commits this path: a key can spell it, and it is not excluded."""
        return locator_of(path) is not None and not (self._is_excluded is not None and self._is_excluded(path))

    def is_wanted(self, path: str, mode: str) -> bool:
        """Whether what the repository has at `path` is brought into the folder.

        Links, submodules and names that another program obeys stay in the repository alone.
        """
        return mode in REGULAR and self.is_note(path) and is_in(self._sparse, path)

    def excluded(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if self._is_excluded is not None and self._is_excluded(path)]

    # -- bytes --------------------------------------------------------------------------------------------

    def has(self, path: str) -> bool:
        """Whether a file of exactly that name is there."""
        try:
            return not self._files.info(Locator(path)).is_dir
        except NotFoundError:
            return False

    def is_like(self, path: str, data: bytes) -> bool:
        """Whether the file has exactly these bytes, however many it has."""
        return self._tree.hash(Locator(path)) == content_hash(data)

    def content(self, path: str) -> bytes | None:
        """What is stored, `None` for nothing."""
        return self._tree.read(Locator(path))

    def replace(self, path: str, data: bytes, seen: bytes | None) -> None:
        """Store `data` in the place of `seen`; an edit that comes between the two is put aside."""
        for _ in range(_PATIENCE):
            try:
                self._replace(path, data, seen)
                return
            except ConcurrentModificationError:
                seen = self.content(path)
                if seen is not None:
                    self.put_aside(path, seen)
        self._replace(path, data, seen)

    def _replace(self, path: str, data: bytes, seen: bytes | None) -> None:
        condition = ABSENT if seen is None else content_hash(seen)
        try:
            self._tree.write(Locator(path), data, condition)
        except LocatorConflictError:
            if not self._tree.remove_empty_directory(Locator(path)):  # git knows no empty folders
                raise
            self._tree.write(Locator(path), data, condition)

    def remove(self, path: str, seen: bytes) -> None:
        """Delete a note; if it is not as it was seen any more, it stays."""
        try:
            self._tree.delete(Locator(path), content_hash(seen))
        except (ConcurrentModificationError, NotFoundError):
            pass

    def put_aside(self, path: str, data: bytes) -> str:
        """Keep a version of a note out of the way; its name has the content's hash, so once is enough."""
        place = kept_place(path, blob_id(data))
        try:
            self._tree.write(Locator(place), data, ABSENT)
        except ConcurrentModificationError:
            if self.content(place) != data:  # the operator is at work on what was kept there
                place = kept_place(path, os.urandom(6).hex())
                self._tree.write(Locator(place), data, ABSENT)
        return place


def locator_of(path: str) -> Locator | None:
    """The key of a path in the repository; `None` where no key reaches it."""
    try:
        locator = Locator(path)
    except (InvalidLocatorError, UnicodeError):
        return None
    return locator if locator.key == path else None


def is_unspelled_note(path: str) -> bool:
    """Whether a person would take it for a note, and no key reaches it because of its name."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return path.endswith(".md") and not hidden and locator_of(path) is None


def is_in(sparse: Iterable[str], path: str) -> bool:
    """Whether only these parts include the path. What agentm itself keeps in `_meta/` always is."""
    parts = tuple(sparse)
    return not parts or any(path == part or path.startswith(f"{part}/") for part in (*parts, layout.META))


def blob_id(data: bytes) -> str:
    """What git calls these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# ------------------------------------------------------------------------------------------------ versions that lost

KEPT = CONFLICTS.key


def kept_place(path: str, digest: str) -> str:
    """Where a version that lost is kept: `_meta/conflicts/<the note's path>/kept-<hash>.md`."""
    return conflict_place(Locator(path), digest, "kept").key


def beside(path: str, digest: str) -> str:
    """`plan.md` → `plan (conflict 1a2b3c4d).md`"""
    return Locator(path).beside(f"conflict {digest[:8]}").key
