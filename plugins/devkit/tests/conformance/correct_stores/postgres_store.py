"""A store on PostgreSQL, written from the authors' guide alone: a row for each note and each directory.

Who writes holds a lock of the server until its transaction ends, and the server frees it when the writer dies. What
is compared under it is what is replaced.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    ABSENT,
    AgentmError,
    Capabilities,
    ConcurrentModificationError,
    Info,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageBackend,
    StorageIOError,
    content_hash,
    decode_content,
    encode_content,
)

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_kernel.plugin import Absent

_TABLE = """CREATE TABLE IF NOT EXISTS entry (
    store text, key text, folder text, folded text, data bytea, mtime float8, version text,
    PRIMARY KEY (store, key), UNIQUE (store, folded))"""
_PUT = """INSERT INTO entry VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (store, key) DO UPDATE SET data = excluded.data, mtime = excluded.mtime, version = excluded.version"""
_LOCK = 0x6E6F7465
_NO_TABLE = "42P01"


class PostgresStore(StorageBackend):
    """The store `name` in the database of the server at `port` of this machine."""

    self_stamping = True
    heavy_imports = ("threading", "typing")  # no hook ever loads it

    def __init__(self, port: int, name: str) -> None:
        self._port = port
        self._name = name
        self._of_thread = threading.local()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, delete=True)

    def describe(self) -> str:
        return f"postgresql://127.0.0.1:{self._port}/{self._name}"

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        with self._transaction("read", locator) as cursor:
            return decode_content(self._note(cursor, locator), locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        with self._transaction("list", locator) as cursor:
            found = self._select(cursor, "key", "folder = %s", locator.key)
        return sorted(Locator(key) for (key,) in found)

    def exists(self, locator: Locator) -> bool:
        with self._transaction("look for", locator) as cursor:
            return not locator.key or self._row(cursor, locator) is not None

    def info(self, locator: Locator) -> Info:
        if not locator.key:
            return Info(locator, True, 0, 0.0)
        with self._transaction("look at", locator) as cursor:
            found = self._select(cursor, "data IS NULL, length(data), mtime, version", "key = %s", locator.key)
        if not found:
            raise NotFoundError(f"'{locator}' does not exist")
        is_dir, size, mtime, version = found[0]
        return Info(locator, is_dir, size or 0, mtime, version)

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        data = encode_content(content, locator)
        with self._transaction("write", locator, writing=True) as cursor:
            self._check_condition(cursor, locator, if_match)
            if self._is_dir(cursor, locator):
                raise LocatorConflictError(f"'{locator}' is a directory, so no note can be stored there")
            self._put(cursor, locator, data)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        with self._transaction("make the directory", locator, writing=True) as cursor:
            if not self._is_dir(cursor, locator):
                self._put(cursor, locator, None)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        with self._transaction("delete", locator, writing=True) as cursor:
            if self._is_dir(cursor, locator):
                raise LocatorConflictError(f"'{locator}' is a directory; only notes are deleted")
            self._note(cursor, locator)
            self._check_condition(cursor, locator, if_match)
            cursor.execute("DELETE FROM entry WHERE store = %s AND key = %s", (self._name, locator.key))

    # -- the server -----------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, doing: str, locator: Locator, *, writing: bool = False) -> Iterator[Any]:
        import pg8000.dbapi as postgres

        connection = None
        try:
            connection = self._connection()
            cursor = connection.cursor()
            if writing:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                cursor.execute(_TABLE)
            yield cursor
            connection.commit()
        except AgentmError:
            raise  # our own errors are errors of the system, too: `NotFoundError` is a `FileNotFoundError`
        except (postgres.Error, OSError) as error:
            raise StorageIOError(f"cannot {doing} '{locator}' in {self.describe()}: {_said(error)}") from error
        finally:
            if connection is not None:
                self._end(connection)

    def _connection(self) -> Any:
        """The connection of this thread; another one if the server has gone away since."""
        import pg8000.dbapi as postgres

        kept = getattr(self._of_thread, "connection", None)
        if kept is not None:
            try:
                kept.cursor().execute("SELECT 1")
            except (postgres.Error, OSError):
                kept = None
        if kept is None:
            place = {"host": "127.0.0.1", "port": self._port, "database": "postgres"}
            kept = self._of_thread.connection = postgres.connect(user="agentm", timeout=10, **place)
            weakref.finalize(self, _close, kept)
        return kept

    def _end(self, connection: Any) -> None:
        """What was not committed is undone, and its lock is free."""
        import pg8000.dbapi as postgres

        try:
            connection.rollback()
        except (postgres.Error, OSError):
            self._of_thread.connection = None

    def _select(self, cursor: Any, columns: str, condition: str, value: str) -> Any:
        import pg8000.dbapi as postgres

        try:
            cursor.execute(
                f"SELECT {columns} FROM entry WHERE store = %s AND key <> '' AND {condition}", (self._name, value)
            )
        except postgres.DatabaseError as error:
            if isinstance(error.args[0], dict) and error.args[0].get("C") == _NO_TABLE:
                return ()  # nobody has written anything yet
            raise
        return cursor.fetchall()

    # -- what is stored -------------------------------------------------------------------------------------

    def _row(self, cursor: Any, locator: Locator) -> tuple[bytes | None] | None:
        found = self._select(cursor, "data", "key = %s", locator.key)
        return found[0] if found else None

    def _is_dir(self, cursor: Any, locator: Locator) -> bool:
        row = self._row(cursor, locator)
        return not locator.key or (row is not None and row[0] is None)

    def _note(self, cursor: Any, locator: Locator) -> bytes:
        row = self._row(cursor, locator)
        if row is None or row[0] is None:
            raise NotFoundError(f"there is no note '{locator}'")
        return bytes(row[0])

    def _check_condition(self, cursor: Any, locator: Locator, if_match: str | Absent | None) -> None:
        if if_match is None:
            return
        row = self._row(cursor, locator)
        if (ABSENT if row is None else content_hash(bytes(row[0] or b""))) != if_match:
            raise ConcurrentModificationError(f"'{locator}' was not changed: it is not what was expected")

    def _put(self, cursor: Any, locator: Locator, data: bytes | None) -> None:
        row = self._row(cursor, locator)
        if row is None:
            self._check_spelling(cursor, locator)
            if not self._is_dir(cursor, locator.parent):
                self._put(cursor, locator.parent, None)
        elif data is None:
            raise LocatorConflictError(f"'{locator}' is a note, so nothing can be stored below it")
        key, folder, folded = locator.key, locator.parent.key, locator.key.casefold()
        cursor.execute(_PUT, (self._name, key, folder, folded, data, time.time(), os.urandom(8).hex()))

    def _check_spelling(self, cursor: Any, locator: Locator) -> None:
        for (stored,) in self._select(cursor, "key", "folded = %s", locator.key.casefold()):
            raise LocatorConflictError(f"'{locator}' differs only in case from the stored '{stored}'")


def _close(connection: Any) -> None:
    import pg8000.dbapi as postgres

    with suppress(postgres.Error, OSError):  # the server may have gone away
        connection.close()


def _said(error: Exception) -> str:
    told = error.args[0] if error.args else error
    return str(told.get("M", told) if isinstance(told, dict) else told)
