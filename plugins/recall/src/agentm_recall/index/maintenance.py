"""Keeping the index of one store: building it, and bringing it up to date. The other half is `reading`."""

from __future__ import annotations

import os
import time
from itertools import islice

from agentm_kernel.plugin import (
    DerivedMaintenance,
    Locator,
    StorageError,
    current_directory,
    make_private_folder,
)
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.differences import Changes, Difference, compare_notes, find_changes, find_difference, silent
from agentm_recall.index.outlining import write_outlines
from agentm_recall.index.place import seal_of
from agentm_recall.index.reading import EVERYTHING, LISTED_FOR_A_HOOK, IndexReader
from agentm_recall.index.refresh import LISTED, apply_difference
from agentm_recall.lookup import note_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import Tier
    from agentm_recall.index.differences import Progress

_BUILT_AT_ONCE = 500
"""So many notes are indexed before anybody notices; more deserve a progress bar."""
LISTED_AT_ONCE = 1000
"""So many notes a command lists before anybody notices; more are listed in the background, once a minute."""
_A_MINUTE = 60.0
_LARGE_IMAGE = 10_000_000
"""Bytes of a sealed index that are written again with every note."""
_TEMPORARY = ".new"
_ABANDONED = 3600.0
"""Seconds after which a half-built index belongs to nobody."""


class RecallIndex(IndexReader, DerivedMaintenance):
    """The index of the notes of `backend`, in the tier `LOCAL_INDEX`, for those who keep it."""

    def reindex(self, tier: Tier | None = None, *, progress: Progress = silent) -> None:
        """Build the index anew, beside the old one, and put it in its place when it is whole."""
        from agentm_kernel.plugin import Tier  # not above: no hook comes here, and `enum` is slow to load

        if tier not in (None, Tier.LOCAL_INDEX):
            raise StorageError(f"recall keeps the tier {Tier.LOCAL_INDEX.value} only, not {tier.value}")
        self.rebuild(progress)

    def changed_since(self, mtime: float) -> list[Locator]:
        """Notes that are newer than `mtime`, and those that differ from the index whatever their times say."""
        newer = {info.locator for info in note_files(self.backend, Locator()) if info.mtime > mtime}
        with self.opened(EVERYTHING, may_write=False, look_only=True) as opened:
            stale = find_difference(opened.database, self.backend, EVERYTHING).stale
        return sorted(newer | {info.locator for info in stale})

    def update(self, progress: Progress = silent, *, wait: float = 0.0) -> Changes:
        """Bring the file up to date, or build it; `IndexUnavailable` if it cannot be written now."""
        path = self._path()
        if not os.path.exists(path):
            return self.rebuild(progress)
        try:
            with Database.open(path, read_only=False, wait=wait) as database:
                difference = find_difference(database, self.backend, EVERYTHING)
                changes = apply_difference(database, self.backend, difference, progress=progress)
                write_outlines(path, database, difference.concerned)
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
                    difference: Difference | None = find_difference(database, self.backend, EVERYTHING)
                else:
                    difference = find_changes(database, self.backend, EVERYTHING, LISTED_FOR_A_HOOK)
                    if difference is None or time.time() - database.fact(LISTED) > _A_MINUTE:
                        self.keep_up(current_directory())
                changes = Changes()
                if difference is not None:
                    changes = apply_difference(database, self.backend, difference, progress=progress)
                    write_outlines(path, database, difference.concerned)
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
            if seal_of(path) is not None and os.path.getsize(path) > _LARGE_IMAGE:
                return  # all of it would be sealed again for one note; the next search finds the change
            with Database.open(path, read_only=False, wait=0.0) as database:
                written = Difference({})
                written.stale += map(self.backend.info, locators)
                apply_difference(database, self.backend, written)
                write_outlines(path, database, written.keys)
        except (IndexUnavailable, StorageError):
            return

    def note_changes(self, keys: Sequence[str]) -> bool:
        """Compare some notes with the index, and index those that have changed; whether there were any."""
        try:
            with Database.open(self._path(), read_only=True) as database:
                difference = compare_notes(database, self.backend, keys)
            if difference:
                with Database.open(self._path(), read_only=False, wait=0.2) as database:
                    apply_difference(database, self.backend, difference)
            return bool(difference)
        except (IndexUnavailable, StorageError):
            return False

    def keep_warm(self) -> Changes | None:
        """`update` for those who cannot wait: a large index that is not there yet is not built."""
        path = self._path()
        if not os.path.exists(path):
            few = list(islice(note_files(self.backend, Locator()), _BUILT_AT_ONCE + 1))
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
        if seal_of(path) is not None:
            return self._rebuild_sealed(path, progress)
        folder = os.path.dirname(path)
        temporary = f"{path}.{os.getpid()}-{time.monotonic_ns():x}{_TEMPORARY}"
        try:
            make_private_folder(folder)
            _sweep(folder)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            try:
                with Database.create(temporary) as database:
                    difference = find_difference(database, self.backend, EVERYTHING)
                    changes = apply_difference(database, self.backend, difference, progress=progress)
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

    def _rebuild_sealed(self, place: str, progress: Progress) -> Changes:
        """The same for an encrypted store, in memory."""
        from agentm_recall.index.sealed_database import SealedDatabase

        try:
            make_private_folder(os.path.dirname(place))
        except OSError as error:
            raise IndexUnavailable(f"it cannot be written: {error.strerror or error}") from error
        with SealedDatabase.new(place, wait=5.0) as database:
            difference = find_difference(database, self.backend, EVERYTHING)
            changes = apply_difference(database, self.backend, difference, progress=progress)
            write_outlines(place, database)
        return changes


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
