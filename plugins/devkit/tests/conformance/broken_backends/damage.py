"""Backends on SQLite that take damage for absence, keep to files that are elsewhere, or do not wait for the disk."""

from __future__ import annotations

import sqlite3

from broken_backends.scaffolded import Scaffolded
from broken_backends.table import broken

from agentm_kernel.errors import InvalidContentError, NotFoundError, StorageIOError


@broken("damaged_files", saying="read('dir/note.md') reported absence")
class DamageIsAbsence(Scaffolded):
    def read(self, locator):
        try:
            return super().read(locator)
        except StorageIOError as error:
            raise NotFoundError(f"'{locator}' does not exist") from error


@broken("damaged_files", saying="list('dir') gave []")
class DamageIsAnEmptyFolder(Scaffolded):
    def list(self, locator):
        try:
            return super().list(locator)
        except StorageIOError:
            return []


@broken("undecodable_bytes", saying="with a byte in the note that is not UTF-8, read('dir/note.md') gave")
class DecodesAnyhow(Scaffolded):
    def read(self, locator):
        try:
            return super().read(locator)
        except InvalidContentError:
            with self._connection("read", locator) as connection:
                query = "SELECT data FROM entry WHERE key = ?"
                return connection.execute(query, (locator.key,)).fetchone()[0].decode(errors="replace")


class _Kept(sqlite3.Connection):
    def close(self):
        """It is used again."""


@broken("replaced_files", saying="it read 'later than the backup\\n' from files that are elsewhere now")
class KeepsItsConnection(Scaffolded):
    _kept = None

    def _open(self, *, writing):
        if self._kept is None:
            super()._open(writing=True).close()
            self._kept = sqlite3.connect(
                self._path, timeout=10, isolation_level=None, factory=_Kept, check_same_thread=False
            )
        if self._kept.in_transaction:
            self._kept.rollback()
        self._kept.execute("DROP TABLE IF EXISTS temp.entry")
        return self._kept


@broken("sqlite_is_durable", saying="`PRAGMA synchronous=OFF`")
class DoesNotWaitForTheDisk(Scaffolded):
    def _open(self, *, writing):
        connection = super()._open(writing=writing)
        connection.execute("PRAGMA synchronous = OFF")
        return connection


@broken("sqlite_is_durable", saying="`synchronous=FULL` keeps them")
class WaitsForTheLogAlone(Scaffolded):
    def _open(self, *, writing):
        connection = super()._open(writing=writing)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection
