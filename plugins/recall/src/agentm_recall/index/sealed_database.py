"""The index of an encrypted store while it is open: in memory, from a sealed image, sealed again if it changed."""

from __future__ import annotations

import os

from agentm_kernel.plugin import DirectoryLock, LockTimeout, StorageError
from agentm_recall.index.database import Database, Failures, IndexDamaged, IndexUnavailable
from agentm_recall.index.place import read_beside, write_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class SealedDatabase(Database):
    """One writer at a time: who writes holds a lock from the moment it reads the image."""

    def __init__(self, place: str, lock: DirectoryLock | None) -> None:
        super().__init__(Database.empty().connection)
        self._place = place
        self._lock = lock

    @classmethod
    def load(cls, place: str, *, read_only: bool, wait: float) -> Self:
        """An index that exists; `IndexUnavailable` if it does not, or somebody else changes it now."""
        database = cls._held(place, None if read_only else wait)
        try:
            data = read_beside(place, place)
            with Failures():
                database.connection.deserialize(data)
                database.check_mark()
        except ValueError as error:
            database.close()
            raise IndexDamaged(f"it cannot be opened: {error}") from error
        except OSError as error:
            database.close()
            raise IndexUnavailable(f"it cannot be read: {error.strerror or error}") from error
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def new(cls, place: str, wait: float) -> Self:
        """An empty one, in the place of whatever is there."""
        database = cls._held(place, wait)
        database.create_tables()
        return database

    @classmethod
    def _held(cls, place: str, wait: float | None) -> Self:
        """An empty one; `wait` seconds for others that write, `None` for who only reads."""
        if wait is None:
            return cls(place, None)
        lock = DirectoryLock(os.path.dirname(place), wait)
        try:
            lock.__enter__()
        except LockTimeout as error:
            raise IndexUnavailable("another process is updating it") from error
        except StorageError as error:
            raise IndexUnavailable(error.message) from error
        return cls(place, lock)

    def __exit__(self, *failure: object) -> None:
        try:
            if self._lock is not None and failure[0] is None and self.connection.total_changes:
                self._save()
        finally:
            self.close()

    def _save(self) -> None:
        try:
            write_beside(self._place, self._place, self.connection.serialize())
        except OSError as error:
            raise IndexUnavailable(f"it cannot be written: {error.strerror or error}") from error

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            self._lock.__exit__(None, None, None)
            self._lock = None
