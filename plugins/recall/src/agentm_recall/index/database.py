"""The index itself: one SQLite file, or the same thing in memory.

Readers open it read-only and never create a file beside it; hence a rollback journal and not a write-ahead log, whose
readers must write. Changes are made in short transactions, so nobody waits for long.
"""

from __future__ import annotations

from agentm_recall.index.engine import sqlite
from agentm_recall.index.place import SCHEMA, seal_of
from agentm_recall.note import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Self

    from agentm_kernel.plugin import Locator

_APPLICATION = 0x61676D72

TOKENIZER = "porter unicode61 remove_diacritics 2"
_UNREAD = "problem IS NOT NULL AND size = 0"  # front matter with a problem has a size

_TABLES = (
    """
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        version TEXT NOT NULL,
        hash TEXT NOT NULL,
        folder TEXT NOT NULL,
        slug TEXT NOT NULL,
        size INTEGER NOT NULL,
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        title TEXT NOT NULL,
        tags TEXT NOT NULL,
        project TEXT,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        source TEXT NOT NULL,
        confidence REAL,
        supersedes TEXT NOT NULL,
        problem TEXT,
        verified TEXT NOT NULL DEFAULT '',
        stale_after TEXT NOT NULL DEFAULT '',
        replaced INTEGER NOT NULL DEFAULT 0,
        changed TEXT AS (iif(updated = '', created, updated)),
        dead INTEGER AS (iif(status = 'deleted', 2, iif(status = 'superseded' OR replaced, 1, 0)))
    )
    """,
    "CREATE INDEX notes_by_slug ON notes (slug)",
    "CREATE INDEX notes_by_folder ON notes (folder, dead, changed)",
    "CREATE INDEX notes_unsettled ON notes (key) WHERE version = ''",
    f"CREATE INDEX notes_unread ON notes (key) WHERE {_UNREAD}",
    "CREATE TABLE claims (slug TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (slug, note)) WITHOUT ROWID",
    "CREATE INDEX claims_by_note ON claims (note)",
    "CREATE TABLE mentions (note INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL)",
    "CREATE INDEX mentions_by_note ON mentions (note)",
    "CREATE TABLE folders (key TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID",
    f"CREATE VIRTUAL TABLE texts USING fts5 (title, name, body, hidden, scope, tokenize = '{TOKENIZER}')",
)
NOTE_COLUMNS = (
    "key, kind, status, notes.title, tags, project, created, updated, source, confidence, supersedes, problem,"
    " verified, stale_after"
)

_BUSY = (sqlite.SQLITE_BUSY, sqlite.SQLITE_LOCKED)
_NO_ROOM = (sqlite.SQLITE_FULL, sqlite.SQLITE_IOERR, sqlite.SQLITE_READONLY, sqlite.SQLITE_CANTOPEN)


class IndexUnavailable(Exception):
    """The index cannot be used now; the message says why. Notes are never affected."""


class IndexDamaged(IndexUnavailable):
    """What is there is not an index, or not one of this plugin: it has to be built again."""


class Database:
    """An open index. Failures of SQLite leave as `IndexUnavailable` or `IndexDamaged`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @classmethod
    def in_memory(cls) -> Self:
        database = cls.empty()
        database.create_tables()
        return database

    @classmethod
    def create(cls, path: str) -> Self:
        """A new index in an empty file that nobody else knows yet: speed matters, a crash does not."""
        with Failures():
            database = cls(_connect(path, "rw", 0.0))
            database.connection.execute("PRAGMA journal_mode = OFF")
            database.connection.execute("PRAGMA synchronous = OFF")
            database.create_tables()
        return database

    @classmethod
    def open(cls, path: str, *, read_only: bool, wait: float = 0.2) -> Self:
        """An index that exists; `IndexUnavailable` if it does not."""
        if seal_of(path) is not None:
            from agentm_recall.index.sealed_database import SealedDatabase

            return SealedDatabase.load(path, read_only=read_only, wait=wait)  # type: ignore[return-value]
        with Failures():
            database = cls(_connect(path, "ro" if read_only else "rw", wait))
            try:
                database.check_mark()
                if not read_only:
                    database.connection.execute("PRAGMA cache_spill = OFF")  # readers are kept out by commits only
            except BaseException:
                database.close()
                raise
        return database

    @classmethod
    def empty(cls) -> Self:
        """A place in memory for an index, without its tables."""
        return cls(sqlite.connect(":memory:", isolation_level=None))

    def lock(self) -> None:
        """Keep everybody else out until this is closed."""
        with Failures():
            self.connection.execute("BEGIN EXCLUSIVE")

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_tables(self) -> None:
        for statement in _TABLES:
            self.connection.execute(statement)
        self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def check_mark(self) -> None:
        """`IndexDamaged` if this is not an index of this version."""
        mark = [
            self.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        ]
        if mark != [_APPLICATION, SCHEMA]:
            raise IndexDamaged("the file is not an index of this version")

    # -- reading ----------------------------------------------------------------------------------------------

    def versions(self, folders: Iterable[Locator]) -> dict[str, tuple[str, str]]:
        """Version and content hash of every note below the folders, by key."""
        return {key: (version, digest) for key, version, digest in self._below("key, version, hash", folders)}

    def notes(self, folders: Iterable[Locator]) -> dict[str, tuple[str, Note]]:
        """The version and the fields of every note below the folders, by key."""
        return {row[0]: (row[14], note_of_row(row)) for row in self._below(f"{NOTE_COLUMNS}, version", folders)}

    def versions_of(self, keys: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Version and content hash of these notes."""
        found: dict[str, tuple[str, str]] = {}
        for key in keys:
            with Failures():
                row = self.connection.execute("SELECT version, hash FROM notes WHERE key = ?", (key,)).fetchone()
            if row is not None:
                found[key] = row[0], row[1]
        return found

    def versions_in(self, folders: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Version and content hash of every note that lies directly in one of the folders, by key."""
        found: dict[str, tuple[str, str]] = {}
        for folder in folders:
            with Failures():
                rows = self.connection.execute("SELECT key, version, hash FROM notes WHERE folder = ?", (folder,))
                found |= {key: (version, digest) for key, version, digest in rows}
        return found

    def unsettled(self, places: Iterable[Locator]) -> list[str]:
        """Notes that were read so soon after a change that another one may not have shown."""
        with Failures():
            rows = self.connection.execute("SELECT key FROM notes WHERE version = ''").fetchall()
        beginnings = tuple(f"{place.key}/" if place.key else "" for place in places)
        return [key for (key,) in rows if key.startswith(beginnings)]

    def folders(self, places: Iterable[Locator]) -> dict[str, str]:
        """The version that each folder at and below the places had when it was listed."""
        known: dict[str, str] = {}
        for place in places:
            with Failures():
                known |= self.connection.execute(
                    "SELECT key, version FROM folders WHERE key = ? OR (key >= ? AND key < ?)",
                    (place.key, *_bounds(place)),
                ).fetchall()
        return known

    def newest(self, folder: str, most: int) -> list[tuple[str, str, str, str, int]]:
        """Key, date, day of making, claims and size of the newest notes in a folder, without dead ones."""
        with Failures():
            return self.connection.execute(
                "SELECT key, changed, created, supersedes, size FROM notes WHERE folder = ? AND dead = 0"
                " ORDER BY changed DESC, key LIMIT ?",
                (folder, most),
            ).fetchall()

    def states(self, folder: str) -> tuple[int, int, int]:
        """How many notes of a folder are current, replaced, deleted."""
        with Failures():
            rows = self.connection.execute(
                "SELECT dead, count(*) FROM notes WHERE folder = ? GROUP BY dead", (folder,)
            )
            counts: dict[int, int] = dict(rows.fetchall())
        return counts.get(0, 0), counts.get(1, 0), counts.get(2, 0)

    def state(self, key: str) -> int | None:
        """Whether a note is current (0), replaced (1) or deleted (2); `None` if it is not known."""
        with Failures():
            row = self.connection.execute("SELECT dead FROM notes WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else None

    def named_things(self, project: str) -> list[tuple[str, str, str, str, str]]:
        """What the current notes of a project name: key, dates, title, kind and name of each."""
        with Failures():
            return self.connection.execute(
                "SELECT key, changed || '|' || verified, title, mentions.kind, name FROM mentions"
                " JOIN notes ON notes.id = mentions.note WHERE notes.project = ? AND dead = 0 ORDER BY changed DESC",
                (project,),
            ).fetchall()

    def slugs(self, project: str, beginning: str, most: int) -> list[str]:
        """The names of current notes of a project, and of personal ones, that begin like this."""
        with Failures():
            rows = self.connection.execute(
                "SELECT DISTINCT slug FROM notes WHERE slug >= ? AND slug < ? AND dead = 0"
                " AND (project = ? OR project IS NULL) ORDER BY slug LIMIT ?",
                (beginning, f"{beginning}\U0010ffff", project, most),
            ).fetchall()
        return [slug for (slug,) in rows]

    def fact(self, name: str) -> float:
        """A number that somebody kept; 0 if nobody did."""
        with Failures():
            row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return float(row[0]) if row else 0.0

    def texts(self, keys: Sequence[str], most: int) -> dict[str, tuple[Note, str]]:
        """Notes with the first `most` characters of their texts as they were when they were indexed."""
        found = {}
        for key in keys:
            with Failures():
                row = self.connection.execute(
                    f"SELECT {NOTE_COLUMNS}, substr(body, 1, ?) FROM notes JOIN texts ON texts.rowid = notes.id"  # noqa: S608
                    " WHERE key = ?",
                    (most, key),
                ).fetchone()
            if row is not None:
                found[key] = note_of_row(row), row[14]
        return found

    def by_id(self, numbers: Iterable[int]) -> dict[int, tuple[Note, bool]]:
        """Notes by their row, each with whether another note replaces it."""
        wanted = list(numbers)
        marks = ",".join("?" * len(wanted))
        with Failures():
            rows = self.connection.execute(
                f"SELECT {NOTE_COLUMNS}, replaced, id FROM notes WHERE id IN ({marks})",  # noqa: S608 - question marks
                wanted,
            ).fetchall()
        return {row[15]: (note_of_row(row), bool(row[14])) for row in rows}

    def by_slug(self, slug: str) -> list[tuple[int, Note]]:
        """The notes of that name, each with its row."""
        with Failures():
            rows = self.connection.execute(
                f"SELECT {NOTE_COLUMNS}, id FROM notes WHERE slug = ?",  # noqa: S608 - names of columns
                (slug,),
            ).fetchall()
        return [(row[14], note_of_row(row)) for row in rows]

    def select_notes(self, condition: str, *values: object) -> list[Note]:
        """The notes for which an SQL condition holds."""
        with Failures():
            rows = self.connection.execute(f"SELECT {NOTE_COLUMNS} FROM notes WHERE {condition}", values)  # noqa: S608
            return [note_of_row(row) for row in rows]

    def unread(self) -> list[Note]:
        """The notes that could not be read, each with the reason."""
        return self.select_notes(_UNREAD)

    def check(self) -> None:
        """`IndexDamaged` if SQLite finds anything wrong with the file."""
        with Failures():
            found = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise IndexDamaged(found)

    def count(self, folders: Iterable[str] | None = None) -> int:
        """How many notes there are, or lie directly in the folders."""
        with Failures():
            if folders is None:
                return int(self.connection.execute("SELECT count(*) FROM notes").fetchone()[0])
            query = "SELECT count(*) FROM notes WHERE folder = ?"
            return sum(int(self.connection.execute(query, (folder,)).fetchone()[0]) for folder in folders)

    def count_gone(self) -> int:
        """How many of them were forgotten: their files stay, and lists leave them out."""
        with Failures():
            query = "SELECT count(*) FROM notes WHERE status = 'deleted'"
            return int(self.connection.execute(query).fetchone()[0])

    def _below(self, columns: str, folders: Iterable[Locator]) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for folder in folders:
            with Failures():
                rows += self.connection.execute(
                    f"SELECT {columns} FROM notes WHERE key >= ? AND key < ?",  # noqa: S608 - names of columns
                    _bounds(folder),
                )
        return rows


def _bounds(folder: Locator) -> tuple[str, str]:
    """Between which keys everything below a folder lies."""
    return (f"{folder.key}/", f"{folder.key}0") if folder.key else ("", "\U0010ffff")  # "0" follows "/"


def note_of_row(row: tuple[str, ...]) -> Note:
    key, kind, status, title, tags, project, created, updated, source, confidence, supersedes, problem = row[:12]
    verified, stale_after = row[12:14]
    return Note(
        key,
        kind,
        status,
        title,
        tuple(tags.split("\n")) if tags else (),
        project,
        created,
        updated,
        source,
        confidence,  # type: ignore[arg-type] # a number or nothing, as the table says
        tuple(supersedes.split("\n")) if supersedes else (),
        problem,
        verified,
        stale_after,
    )


def _connect(path: str, mode: str, wait: float) -> sqlite3.Connection:
    for character, escaped in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(character, escaped)
    return sqlite.connect(f"file:{path}?mode={mode}", uri=True, timeout=wait, isolation_level=None)


class Failures:
    """Says what SQLite's failures mean for an index."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, sqlite.DatabaseError) or isinstance(error, sqlite.ProgrammingError):
            return  # a mistake of ours says nothing about the file
        code = (error.sqlite_errorcode or 0) & 0xFF if hasattr(error, "sqlite_errorcode") else 0
        if code in _BUSY:
            raise IndexUnavailable("another process is updating it") from error
        if code in _NO_ROOM:
            raise IndexUnavailable(f"it cannot be used: {error}") from error
        raise IndexDamaged(f"it is damaged: {error}") from error
