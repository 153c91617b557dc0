"""Bringing an index up to date: one listing, and then only what differs.

A note is looked at again when its version differs from the indexed one, and indexed again when its content does.
Times of files decide nothing: sync tools set them as they like.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import InvalidContentError, NotFoundError, StorageError, content_hash
from agentm_recall.index.database import Failures
from agentm_recall.index.words import bigrams, hidden_words, pieces
from agentm_recall.layout import slug_of
from agentm_recall.lookup import note_files
from agentm_recall.note import Note, parse_note
from agentm_recall.supersession import superseded_keys, target_slug

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from agentm_kernel.plugin import Info, Locator, StorageBackend
    from agentm_recall.index.database import Database

    Progress = Callable[[str, Sequence[Info]], Iterable[Info]]

_BATCH = 200
"""Notes per transaction: enough to be fast, few enough that nobody waits for a commit."""
_LONGEST_BODY = 200_000
"""Characters of one note that are indexed; a question finds a note by its beginning."""
_RESTLESS = 2.0
"""Seconds. A file that changed this recently may change again without its version showing it."""


@dataclass(frozen=True)
class Difference:
    """What the store has and the index has not, and the other way round."""

    stale: tuple[Info, ...]
    gone: tuple[str, ...]
    hashes: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.stale or self.gone)

    @property
    def keys(self) -> list[str]:
        return [*(info.locator.key for info in self.stale), *self.gone]


@dataclass(frozen=True)
class Changes:
    """What bringing it up to date took."""

    looked_at: int = 0
    indexed: int = 0
    removed: int = 0
    unreached: int = 0
    """Notes that the deadline left out."""


def silent(_label: str, items: Sequence[Info]) -> Iterable[Info]:
    return items


def find_difference(database: Database, backend: StorageBackend, folders: Sequence[Locator]) -> Difference:
    """Compare one listing of the folders with the index; nothing is read."""
    known = database.versions(folders)
    listed = {info.locator.key: info for folder in folders for info in note_files(backend, folder)}
    stale = [info for key, info in listed.items() if not info.version or known.get(key, ("",))[0] != info.version]
    gone = [key for key in known if key not in listed]
    return Difference(tuple(stale), tuple(gone), {key: digest for key, (_, digest) in known.items()})


def apply_difference(
    database: Database,
    backend: StorageBackend,
    difference: Difference,
    *,
    deadline: float | None = None,
    progress: Progress = silent,
) -> Changes:
    """Read what differs and index it, as far as the deadline (of `time.monotonic`) allows."""
    looked_at = indexed = 0
    removed = list(difference.gone)
    batch: list[_Read] = []
    for info in progress("indexing", difference.stale):
        if deadline is not None and time.monotonic() > deadline:
            break
        looked_at += 1
        known = difference.hashes.get(info.locator.key)
        read = _read(backend, info)
        if read is None:
            removed += [info.locator.key] if known is not None else []
            continue
        batch.append(read)
        indexed += read.digest != known
        if len(batch) >= _BATCH:
            _store(database, batch, ())
            batch.clear()
    _store(database, batch, removed)
    if indexed or removed:
        _settle_claims(database)
    return Changes(looked_at, indexed, len(removed), len(difference.stale) - looked_at)


# ------------------------------------------------------------------------------------------------ one note


@dataclass(frozen=True)
class _Read:
    note: Note
    body: str
    digest: str
    version: str


def _read(backend: StorageBackend, info: Info) -> _Read | None:
    """A note as it is stored now, `None` if it has vanished. One that cannot be read is kept with the reason."""
    key = info.locator.key
    try:
        text = backend.read(info.locator)
    except NotFoundError:
        return None
    except InvalidContentError as error:
        return _Read(_unreadable(key, error.message), "", f"unreadable {info.version}", info.version)
    except StorageError as error:
        return _Read(_unreadable(key, error.message), "", "", "")  # it may be readable the next time
    note, body = parse_note(key, text)
    is_settled = abs(time.time() - info.mtime) > _RESTLESS
    return _Read(note, body, content_hash(text), info.version if is_settled else "")


def _unreadable(key: str, why: str) -> Note:
    return Note(key, "note", "active", slug_of(key), problem=why)


def _store(database: Database, batch: Sequence[_Read], removed: Sequence[str]) -> None:
    if not batch and not removed:
        return
    with Failures(), _Transaction(database.connection):
        for key in removed:
            _remove(database.connection, key)
        for read in batch:
            _store_one(database.connection, read)


class _Transaction:
    """All of it or nothing. Nobody else writes meanwhile; readers go on."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, _error: object, _trace: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _remove(connection: sqlite3.Connection, key: str) -> None:
    """By key and inside the transaction: another process may have numbered the rows anew."""
    connection.execute("DELETE FROM texts WHERE rowid = (SELECT id FROM notes WHERE key = ?)", (key,))
    connection.execute("DELETE FROM notes WHERE key = ?", (key,))


def _store_one(connection: sqlite3.Connection, read: _Read) -> None:
    same = "UPDATE notes SET version = ? WHERE key = ? AND hash = ?"
    if read.digest and connection.execute(same, (read.version, read.note.key, read.digest)).rowcount:
        return
    _remove(connection, read.note.key)
    note = read.note
    cursor = connection.execute(
        "INSERT INTO notes (key, version, hash, slug, kind, status, title, tags, project, created, updated, source,"
        " confidence, supersedes, problem, verified, stale_after)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            note.key,
            read.version,
            read.digest,
            note.slug,
            note.kind,
            note.status,
            note.title,
            "\n".join(note.tags),
            note.project,
            note.created,
            note.updated,
            note.source,
            note.confidence,
            "\n".join(note.supersedes),
            note.problem,
            note.verified,
            note.stale_after,
        ),
    )
    body = read.body[:_LONGEST_BODY]
    connection.execute(
        "INSERT INTO texts (rowid, title, name, body, hidden, scope) VALUES (?, ?, ?, ?, ?, ?)",
        (
            cursor.lastrowid,
            note.title,
            " ".join((*pieces(note.slug.replace("-", "_")), *note.tags, *bigrams(note.title))),
            body,
            hidden_words(f"{note.title}\n{body}"),
            f"{scope_token('project', note.project)} {scope_token('kind', note.kind)}",
        ),
    )


def scope_token(what: str, name: str | None) -> str:
    """One word that no text has and no stemmer changes, for questions that are limited to a project or a kind."""
    return f"{what}{(name or '').encode().hex()}x"


def _settle_claims(database: Database) -> None:
    """Note which notes are replaced by others. Only notes that claim something, and what they name, are looked at."""
    claims = database.select_notes("supersedes != ''")
    involved = {note.key: note for note in claims}
    for slug in {target_slug(reference) for note in claims for reference in note.supersedes}:
        involved |= {note.key: note for note in database.select_notes("slug = ?", slug)}
    dead = superseded_keys(involved.values())
    with Failures():
        marked = {row[0] for row in database.connection.execute("SELECT key FROM notes WHERE replaced")}
    if dead == marked:
        return
    changed = [(key in dead, key) for key in dead ^ marked]
    with Failures(), _Transaction(database.connection):
        database.connection.executemany("UPDATE notes SET replaced = ? WHERE key = ?", changed)
