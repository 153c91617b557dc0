"""Getting at an index that is up to date, whatever state the file is in.

Three ways lead to an answer: the file, brought up to date; the file as it is, and beside it what has changed, in
memory; no file at all, and everything in memory. No way lists a large store: see `differences`. Hooks come here, so
what writes is loaded by those who write.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Locator
from agentm_recall.index.asked import Opened
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.differences import Changes, find_changes, find_difference, silent
from agentm_recall.index.place import NoPlace, index_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.index.differences import Progress

    T = TypeVar("T")

EVERYTHING = (Locator(),)
LISTED_FOR_A_HOOK = 3000
"""So many notes a question may list at most, in the folders whose time has changed."""


class IndexReader:
    """The index of the notes of `backend`, for those who ask."""

    def __init__(self, backend: StorageBackend, environ: Mapping[str, str] | None = None) -> None:
        self.backend = backend
        self._environ = environ
        self._known_path: str | None = None

    def path(self) -> str:
        """Where the index lies, or should; `NoPlace` if the store gets none."""
        if self._known_path is None:
            self._known_path = index_path(self.backend, self._environ)
        return self._known_path

    def freshen(self, progress: Progress = silent) -> Changes:
        """Bring the file up to date, for a command that answers a question: `RecallIndex` does."""
        raise IndexUnavailable("it is only read here")

    def rebuild(self, progress: Progress = silent) -> Changes:
        """The whole index from the notes: `RecallIndex` does."""
        raise IndexUnavailable("it is only read here")

    def ask(
        self,
        question: Callable[[Opened], T],
        folders: Sequence[Locator] = EVERYTHING,
        *,
        may_write: bool,
        deadline: float | None = None,
        progress: Progress = silent,
        look_only: bool = False,
    ) -> T:
        """The answer of an index that is `opened` so; one that turns out to be damaged is asked anew in memory."""
        try:
            with self.opened(
                folders, may_write=may_write, deadline=deadline, progress=progress, look_only=look_only
            ) as opened:
                return question(opened)
        except IndexDamaged as error:
            damage = f"the index was not used: {error}"
        if may_write:
            self._try_rebuild(progress)
        with self.opened(folders, may_write=False, deadline=deadline, progress=progress, without_file=True) as opened:
            opened.notices = (*opened.notices, damage)
            return question(opened)

    def _try_rebuild(self, progress: Progress) -> None:
        try:
            self.rebuild(progress)
        except IndexUnavailable:
            return  # the next update tries again, and says what hinders it

    def opened(
        self,
        folders: Sequence[Locator] = EVERYTHING,
        *,
        may_write: bool,
        deadline: float | None = None,
        progress: Progress = silent,
        look_only: bool = False,
        without_file: bool = False,
    ) -> Opened:
        """An index that knows the notes below `folders` as they are now, as far as that can be told in time.

        With `may_write` the file is brought up to date first; else, or where that fails, changes stay in memory.
        With `look_only` the index is taken as it is, `without_file` all of it is made in memory.
        """
        notices: list[str] = []
        changes = Changes()
        if may_write:
            try:
                changes = self.freshen(progress)
                look_only = True
            except IndexUnavailable as error:
                notices.append(f"the index was not updated: {error}")
        stored = None if without_file else self._stored(notices)
        fresh: Database | None = None
        hidden: set[str] = set()
        try:
            if stored is not None and not look_only:
                difference = find_changes(stored, self.backend, folders, LISTED_FOR_A_HOOK)
                if difference:
                    from agentm_recall.index.refresh import apply_difference

                    fresh = Database.in_memory()
                    changes = apply_difference(fresh, self.backend, difference, deadline=deadline, is_kept=False)
                    hidden = set(difference.keys)
                elif difference is not None:
                    changes = Changes(unlisted=difference.reasons)
        except IndexDamaged as error:
            notices.append(f"the index was not used: {error}")
            stored.close() if stored is not None else None
            stored = None
        if stored is None:
            stored = Database.in_memory()
            if not look_only:
                from agentm_recall.index.refresh import apply_difference

                difference = find_difference(stored, self.backend, folders)
                changes = apply_difference(
                    stored, self.backend, difference, deadline=deadline, progress=progress, is_kept=False
                )
        notices += (f"some notes cannot be searched: {why}" for why in changes.unlisted)
        return Opened(stored, changes, notices, fresh, hidden)

    def _stored(self, notices: list[str]) -> Database | None:
        """The file, read-only; `None` where there is none that can be read."""
        try:
            path = self._path()
            if os.path.exists(path):
                return Database.open(path, read_only=True)
        except IndexUnavailable as error:
            if f"the index was not updated: {error}" not in notices:  # one reason is said once
                notices.append(f"the index was not used: {error}")
        return None

    def _path(self) -> str:
        try:
            return self.path()
        except NoPlace as error:
            raise IndexUnavailable(str(error)) from None
