"""Keeping the index of one store, and getting at one that is up to date whatever state the file is in.

Three ways lead to an answer: the file, brought up to date; the file as it is, and beside it what has changed, in
memory; no file at all, and everything in memory. No way lists a large store: see `differences`.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from itertools import islice

from agentm_kernel.plugin import DerivedMaintenance, Locator, StorageError, Tier, make_private_folder
from agentm_recall.index.asked import Opened
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.differences import Difference, compare_notes, find_changes, find_difference
from agentm_recall.index.outlines import write_outlines
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.index.refresh import LISTED, Changes, apply_difference, silent
from agentm_recall.index.sealed_place import SealedPlace
from agentm_recall.lookup import note_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.index.refresh import Progress

    T = TypeVar("T")

_EVERYTHING = (Locator(),)
_BUILT_AT_ONCE = 500
"""So many notes are indexed before anybody notices; more deserve a progress bar."""
LISTED_AT_ONCE = 1000
"""So many notes a command lists before anybody notices; more are listed in the background, once a minute."""
_LISTED_FOR_A_HOOK = 3000
"""So many notes a question may list at most, in the folders whose time has changed."""
_A_MINUTE = 60.0
_LARGE_IMAGE = 10_000_000
"""Bytes of a sealed index that are written again with every note."""
_TEMPORARY = ".new"
_ABANDONED = 3600.0
"""Seconds after which a half-built index belongs to nobody."""


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

    def freshen(self, progress: Progress = silent) -> Changes:
        """`update` for a command that answers a question: what can be seen at once is indexed, and a large store is
        listed in the background, at most once a minute.
        """
        path = self._path()
        if not os.path.exists(path):
            return self.rebuild(progress)
        try:
            with Database.open(path, read_only=False, wait=0.0) as database:
                if database.count() <= LISTED_AT_ONCE:
                    difference: Difference | None = find_difference(database, self._backend, _EVERYTHING)
                else:
                    difference = find_changes(database, self._backend, _EVERYTHING, _LISTED_FOR_A_HOOK)
                    if difference is None or time.time() - database.fact(LISTED) > _A_MINUTE:
                        self.keep_up(os.getcwd())
                changes = Changes()
                if difference is not None:
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
            if isinstance(path, SealedPlace) and os.path.getsize(path) > _LARGE_IMAGE:
                return  # all of it would be sealed again for one note; the next search finds the change
            with Database.open(path, read_only=False, wait=0.0) as database:
                written = Difference({})
                written.stale += map(self._backend.info, locators)
                apply_difference(database, self._backend, written)
                write_outlines(path, database, written.keys)
        except (IndexUnavailable, StorageError):
            return

    def note_changes(self, keys: Sequence[str]) -> bool:
        """Compare some notes with the index, and index those that have changed; whether there were any."""
        try:
            with Database.open(self._path(), read_only=True) as database:
                difference = compare_notes(database, self._backend, keys)
            if difference:
                with Database.open(self._path(), read_only=False, wait=0.2) as database:
                    apply_difference(database, self._backend, difference)
            return bool(difference)
        except (IndexUnavailable, StorageError):
            return False

    def keep_warm(self) -> Changes | None:
        """`update` for those who cannot wait: a large index that is not there yet is not built."""
        path = self._path()
        if not os.path.exists(path):
            few = list(islice(note_files(self._backend, Locator()), _BUILT_AT_ONCE + 1))
            if len(few) > _BUILT_AT_ONCE:
                return None
        elif self._is_large(path):
            return None
        return self.update()

    def keep_up(self, folder: str) -> None:
        """Have a process in the background list what is large, and check what the notes of the project there name."""
        from agentm_recall.upkeep import start

        path = self._path()
        if os.path.exists(path):
            start(path, self._environ, folder)

    @staticmethod
    def _is_large(path: str) -> bool:
        try:
            with Database.open(path, read_only=True) as database:
                return database.count() > LISTED_AT_ONCE
        except IndexDamaged:
            return False

    def rebuild(self, progress: Progress = silent) -> Changes:
        """The whole index from the notes. Whoever reads the old one meanwhile is not disturbed."""
        path = self._path()
        if isinstance(path, SealedPlace):
            return self._rebuild_sealed(path, progress)
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

    def _rebuild_sealed(self, place: SealedPlace, progress: Progress) -> Changes:
        """The same for an encrypted store, in memory."""
        from agentm_recall.index.sealed_database import SealedDatabase

        try:
            make_private_folder(os.path.dirname(place))
        except OSError as error:
            raise IndexUnavailable(f"it cannot be written: {error.strerror or error}") from error
        with SealedDatabase.new(place, wait=5.0) as database:
            difference = find_difference(database, self._backend, _EVERYTHING)
            changes = apply_difference(database, self._backend, difference, progress=progress)
            write_outlines(place, database)
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
            self._try_rebuild(progress)
        with self.opened(folders, may_write=False, deadline=deadline, progress=progress, without_file=True) as opened:
            opened.notices = (*opened.notices, damage)
            return question(opened)

    def _try_rebuild(self, progress: Progress) -> None:
        try:
            self.rebuild(progress)
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
                difference = find_changes(stored, self._backend, folders, _LISTED_FOR_A_HOOK)
                if difference:
                    fresh = Database.in_memory()
                    changes = apply_difference(fresh, self._backend, difference, deadline=deadline)
                    hidden = set(difference.keys)
        except IndexDamaged as error:
            notices.append(f"the index was not used: {error}")
            stored.close() if stored is not None else None
            stored = None
        if stored is None:
            stored = Database.in_memory()
            if not look_only:
                difference = find_difference(stored, self._backend, folders)
                changes = apply_difference(stored, self._backend, difference, deadline=deadline, progress=progress)
        try:
            yield Opened(stored, changes, notices, fresh, hidden)
        finally:
            stored.close()
            if fresh is not None:
                fresh.close()

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
