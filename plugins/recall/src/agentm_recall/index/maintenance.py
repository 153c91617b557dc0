"""Keeping the index of one store, and getting at one that is up to date whatever state the file is in.

Three ways lead to an answer: the file, brought up to date; the file as it is, with what has changed added in memory;
no file at all, and everything in memory. The same code searches all three.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from agentm_kernel.plugin import DerivedMaintenance, Locator, StorageError, Tier, make_private_folder
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.outlines import write_outlines
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.index.refresh import Changes, Difference, apply_difference, find_difference, silent
from agentm_recall.lookup import note_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.index.refresh import Progress

    T = TypeVar("T")

_EVERYTHING = (Locator(),)
_BUILT_AT_ONCE = 500
"""So many notes are indexed before anybody notices; more deserve a progress bar."""
_TEMPORARY = ".new"
_ABANDONED = 3600.0
"""Seconds after which a half-built index belongs to nobody."""


class Opened:
    """An index that answers for the store as it is now, as far as `changes` and `notices` do not say otherwise."""

    def __init__(self, database: Database, changes: Changes, notices: Sequence[str]) -> None:
        self.database = database
        self.changes = changes
        self.notices = tuple(notices)
        """Why the file on disk was not used or not kept up to date; for people."""


class RecallIndex(DerivedMaintenance):
    """The index of the notes of `backend`, in the tier `LOCAL_INDEX`."""

    def __init__(self, backend: StorageBackend, environ: Mapping[str, str] | None = None) -> None:
        self._backend = backend
        self._environ = environ

    def reindex(self, tier: Tier = Tier.LOCAL_INDEX, *, progress: Progress = silent) -> None:
        """Build the index anew, beside the old one, and put it in its place when it is whole."""
        if tier is not Tier.LOCAL_INDEX:
            raise StorageError(f"recall keeps the tier {Tier.LOCAL_INDEX.value} only, not {tier.value}")
        self.rebuild(progress)

    def changed_since(self, mtime: float) -> list[Locator]:
        """Notes that are newer than `mtime`, and those that differ from the index whatever their times say."""
        newer = {info.locator for info in note_files(self._backend, Locator()) if info.mtime > mtime}
        with self.opened(_EVERYTHING, may_write=False, look_only=True) as opened:
            stale = find_difference(opened.database, self._backend, _EVERYTHING).stale
        return sorted(newer | {info.locator for info in stale})

    def path(self) -> str:
        """Where the index lies, or should; `NoPlace` if the store gets none."""
        return index_path(self._backend, self._environ)

    # -- keeping ----------------------------------------------------------------------------------------------

    def update(self, progress: Progress = silent, *, wait: float = 0.0) -> Changes:
        """Bring the file up to date, or build it; `IndexUnavailable` if it cannot be written now."""
        path = self._path()
        if not os.path.exists(path):
            return self.rebuild(progress)
        try:
            with Database.open(path, read_only=False, wait=wait) as database:
                difference = find_difference(database, self._backend, _EVERYTHING)
                changes = apply_difference(database, self._backend, difference, progress=progress)
                if difference:
                    write_outlines(path, database, difference.keys)
                return changes
        except IndexDamaged:
            return self.rebuild(progress)

    def note_written(self, locators: Sequence[Locator]) -> None:
        """Index what was just written, without a listing and without waiting. Failing is no loss: it is derived."""
        try:
            path = self._path()
            if not os.path.exists(path):
                self.keep_warm()
                return
            with Database.open(path, read_only=False, wait=0.0) as database:
                written = Difference(tuple(map(self._backend.info, locators)), (), {})
                apply_difference(database, self._backend, written)
                write_outlines(path, database, written.keys)
        except (IndexUnavailable, StorageError):
            return

    def keep_warm(self) -> Changes | None:
        """`update` for those who cannot wait: a large index that is not there yet is not built."""
        if not os.path.exists(self._path()):
            few = list(islice(note_files(self._backend, Locator()), _BUILT_AT_ONCE + 1))
            if len(few) > _BUILT_AT_ONCE:
                return None
        return self.update()

    def rebuild(self, progress: Progress = silent) -> Changes:
        """The whole index from the notes. Whoever reads the old one meanwhile is not disturbed."""
        path = self._path()
        folder = os.path.dirname(path)
        temporary = f"{path}.{os.getpid()}-{time.monotonic_ns():x}{_TEMPORARY}"
        try:
            make_private_folder(folder)
            _sweep(folder)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            try:
                with Database.create(temporary) as database:
                    difference = find_difference(database, self._backend, _EVERYTHING)
                    changes = apply_difference(database, self._backend, difference, progress=progress)
                    write_outlines(path, database)
                _replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except StorageError:
            raise  # the store's own trouble is not the index's, although it is an OSError too
        except OSError as error:
            raise IndexUnavailable(f"it cannot be written: {error.strerror or error}") from error
        return changes

    # -- using ------------------------------------------------------------------------------------------------

    def ask(
        self,
        question: Callable[[Opened], T],
        folders: Sequence[Locator] = _EVERYTHING,
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
            self._try_rebuild()
        with self.opened(folders, may_write=False, deadline=deadline, progress=progress, without_file=True) as opened:
            opened.notices = (*opened.notices, damage)
            return question(opened)

    def _try_rebuild(self) -> None:
        try:
            self.rebuild()
        except IndexUnavailable:
            return  # the next update tries again, and says what hinders it

    @contextmanager
    def opened(
        self,
        folders: Sequence[Locator] = _EVERYTHING,
        *,
        may_write: bool,
        deadline: float | None = None,
        progress: Progress = silent,
        look_only: bool = False,
        without_file: bool = False,
    ) -> Iterator[Opened]:
        """An index that knows the notes below `folders` as they are now.

        With `may_write` the file is brought up to date first; else, or where that fails, the changes stay in memory.
        With `look_only` the index is taken as it is, `without_file` all of it is made in memory.
        """
        notices: list[str] = []
        changes = Changes()
        if may_write:
            try:
                changes = self.update(progress)
                look_only = True
            except IndexUnavailable as error:
                notices.append(f"the index was not updated: {error}")
        database = Database.in_memory() if without_file else self._stored(notices)
        try:
            if not look_only:
                difference = find_difference(database, self._backend, folders)
                if difference:
                    database = _replaced(database, database.copy())
                    changes = apply_difference(
                        database, self._backend, difference, deadline=deadline, progress=progress
                    )
        except IndexDamaged as error:
            notices.append(f"the index was not used: {error}")
            database = _replaced(database, Database.in_memory())
            difference = find_difference(database, self._backend, folders)
            changes = apply_difference(database, self._backend, difference, deadline=deadline, progress=progress)
        with database:
            yield Opened(database, changes, notices)

    def _stored(self, notices: list[str]) -> Database:
        """The file, read-only; an empty index in memory where there is none."""
        try:
            path = self._path()
            if os.path.exists(path):
                return Database.open(path, read_only=True)
        except IndexUnavailable as error:
            if f"the index was not updated: {error}" not in notices:  # one reason is said once
                notices.append(f"the index was not used: {error}")
        return Database.in_memory()

    def _path(self) -> str:
        try:
            return self.path()
        except NoPlace as error:
            raise IndexUnavailable(str(error)) from None


def _replaced(old: Database, new: Database) -> Database:
    old.close()
    return new


def _replace(temporary: str, path: str) -> None:
    """Put a finished index in its place.

    A journal that a killed process left beside the old one would be rolled back into the new one. So the old one is
    locked first, which settles its journal; one that cannot be opened loses its journal, as it is lost itself.
    """
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    if not os.path.exists(path):
        os.replace(temporary, path)
        return
    try:
        with Database.open(path, read_only=False, wait=5.0) as old:
            old.lock()
            os.replace(temporary, path)
    except IndexDamaged:
        journal = f"{path}-journal"
        if os.path.exists(journal):
            os.unlink(journal)
        os.replace(temporary, path)


def _sweep(folder: str) -> None:
    """Remove what killed builders left behind."""
    for entry in os.scandir(folder):
        if entry.name.endswith(_TEMPORARY) and time.time() - entry.stat().st_mtime > _ABANDONED:
            os.unlink(entry.path)
