"""SQLite databases of other programs, read from a private copy.

Even `mode=ro` may create files beside a database and takes locks that its program notices. So database, WAL and
rollback journal are copied first, without a lock and checked not to have changed meanwhile; only the copy is opened.
In it nothing but plain tables is read: no view, no virtual table, no function, no extension, and no value beyond the
size of a note.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_import.items import Skipped
from agentm_import.source_files import LARGEST, no_source, open_source
from agentm_kernel.plugin import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentm_kernel.plugin import Device

    Row = dict[str, str | int | float | None]

_PARTS = ("", "-wal", "-journal")
_ATTEMPTS = 5
_LARGEST_DATABASE = 8 * 1024**3
_PATIENCE = 60.0
"""Seconds that one query may take: a hostile schema could keep it busy for ever."""
_MAGIC = b"SQLite format 3\0"


class Database:
    """An open private copy."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._deadline = 0.0
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        self._tables = {
            name.decode("utf-8", "replace"): (kind, sql or b"")
            for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master")
            if kind in (b"table", b"view")
        }
        self._columns = {name: self._columns_of(name) for name, (kind, _) in self._tables.items() if kind == b"table"}
        connection.set_authorizer(_only_reading)
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, 10_000)

    def _columns_of(self, table: str) -> list[str]:
        quoted = table.replace('"', '""')
        try:
            return [
                row[1].decode("utf-8", "replace")
                for row in self._connection.execute(f'PRAGMA table_info("{quoted}")')
            ]
        except sqlite3.Error:
            return []  # a virtual table whose module is not here

    def problem_with(self, table: str) -> str | None:
        """Why a table is not read; `None` if it can be."""
        if table not in self._tables:
            return "no such table"
        kind, sql = self._tables[table]
        if kind != b"table":
            return "a view, not a table: views are not read"
        if sql.lstrip().upper().startswith(b"CREATE VIRTUAL"):
            return "a virtual table: not read"
        return None

    def has(self, table: str) -> bool:
        return self.problem_with(table) is None

    def count(self, table: str) -> int:
        """How many rows the table has; 0 if it cannot be read."""
        if not self.has(table):
            return 0
        self._deadline = time.monotonic() + _PATIENCE
        try:
            return int(self._connection.execute(_select("count(*)", table)).fetchone()[0])
        except sqlite3.Error:
            return 0

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Row | Skipped]:
        """The rows in the order in which they came; a row that cannot be read is skipped with the reason.

        A column that this version of the program does not have is `None`. `rowid` is always there.
        """
        problem = self.problem_with(table)
        if problem:
            yield Skipped(table, problem)
            return
        known = [column for column in columns if column in self._columns[table]]
        chosen = ", ".join(["rowid", *(f'"{column}"' for column in known)])
        self._deadline = time.monotonic() + _PATIENCE
        try:
            numbers = [row[0] for row in self._connection.execute(_select("rowid", table, "ORDER BY rowid"))]
        except sqlite3.Error as error:
            yield Skipped(table, f"cannot be read: {error}")
            return
        for number in numbers:
            self._deadline = time.monotonic() + _PATIENCE
            try:
                values = self._connection.execute(_select(chosen, table, "WHERE rowid = ?"), (number,)).fetchone()
                yield {
                    **dict.fromkeys(columns),
                    "rowid": number,
                    **dict(zip(known, map(_plain, values[1:]), strict=True)),
                }
            except UnicodeDecodeError:
                yield Skipped(f"{table}/{number}", "not UTF-8")
            except (sqlite3.Error, OverflowError) as error:
                reason = "larger than a note may be" if "too big" in str(error) else f"cannot be read: {error}"
                yield Skipped(f"{table}/{number}", reason)


def _select(chosen: str, table: str, rest: str = "") -> str:
    return f'SELECT {chosen} FROM "{table}" {rest}'  # noqa: S608 - every name is one of ours, none the source's


def _plain(value: object) -> str | int | float | None:
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, int | float) else None


def _only_reading(action: int, _: str | None, *names: str | None) -> int:
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    is_count = action == sqlite3.SQLITE_FUNCTION and names[0] == "count"
    return sqlite3.SQLITE_OK if is_count else sqlite3.SQLITE_DENY


@contextmanager
def private_copy(path: str, device: Device) -> Iterator[Database]:
    """The database at `path`, copied and opened; a typed error if it is none, or changes all the time."""
    folder = _private_folder(device)
    try:
        copy = os.path.join(folder, "copy.db")
        _copy_until_still(path, copy)
        try:
            connection = sqlite3.connect(copy)
            try:
                yield Database(connection, path)
            finally:
                connection.close()
        except sqlite3.DatabaseError as error:
            raise no_source(path, f"not a database that can be read: {error}", "is it the right file?") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _private_folder(device: Device) -> str:
    """A new folder for this user alone; those of imports that were killed go."""
    base = os.path.join(device.cache_dir, "import")
    make_private_folder(base)
    for name in os.listdir(base):
        owner = name.partition("-")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    folder = os.path.join(base, f"{os.getpid()}-{os.urandom(4).hex()}")
    os.mkdir(folder)  # inside of one that only this user can enter
    return folder


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _copy_until_still(path: str, copy: str) -> None:
    for attempt in range(_ATTEMPTS):
        before = _states(path)
        if before[0] is None:
            raise no_source(path, "there is no such file", "give the path of the database")
        if sum(state[0] for state in before if state) > _LARGEST_DATABASE:
            raise no_source(path, "larger than 8 GB", "import a smaller copy of it")
        for part, state in zip(_PARTS, before, strict=True):
            target = copy + part
            if state is not None:
                _copy(path + part, target)
            elif os.path.exists(target):
                os.unlink(target)
        if _states(path) == before:
            return
        time.sleep(0.05 * (attempt + 1))
    raise no_source(path, "it changes all the time", "close the program that writes it, and run the import again")


def _states(path: str) -> list[tuple[int, int, int] | None]:
    """Size, time and inode of each part."""
    found: list[tuple[int, int, int] | None] = []
    for part in _PARTS:
        try:
            status = os.lstat(path + part)
            found.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except FileNotFoundError:
            found.append(None)
        except OSError as error:
            raise no_source(path, error.strerror or str(error), "make it readable") from None
    return found


def _copy(source: str, target: str) -> None:
    try:
        descriptor = open_source(source)
        with os.fdopen(descriptor, "rb") as reading, open(target, "wb") as writing:
            first = reading.read(16)
            if target.endswith(".db") and first and first != _MAGIC:
                raise no_source(source, "not a SQLite database", "is it the right file?")
            writing.write(first)
            shutil.copyfileobj(reading, writing, 1 << 20)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return  # it went between the look and the copy; the second look notices
        why = "a link; links are not followed" if os.path.islink(source) else error.strerror or str(error)
        raise no_source(source, why, "give the path of the database itself") from None


def quick_count(path: str, table: str) -> int:
    """About how many rows a table has, for `detect`: no lock, no file beside it, no WAL; 0 if that cannot be told."""
    from urllib.parse import quote

    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return 0
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        try:
            deadline = time.monotonic() + 0.2
            connection.execute("PRAGMA trusted_schema=OFF")
            kind = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            if kind != ("table",):
                return 0
            connection.set_authorizer(_only_reading)
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            return int(connection.execute(_select("count(*)", table)).fetchone()[0])
        finally:
            connection.close()
    except (sqlite3.Error, OSError):
        return 0
