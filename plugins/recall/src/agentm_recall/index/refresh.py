"""Bringing an index up to date: only what differs is read.

A note is looked at again when its version differs from the indexed one, and indexed again when its content does.
Times of files decide nothing: sync tools set them as they like.
"""

from __future__ import annotations

import time

from agentm_kernel.plugin import Frozen, InvalidContentError, Locator, NotFoundError, StorageError, content_hash
from agentm_recall.index.claims import settle_claims
from agentm_recall.index.database import Failures
from agentm_recall.index.differences import Changes, silent
from agentm_recall.index.words import bigrams, hidden_words, pieces, scope_token
from agentm_recall.layout import slug_of
from agentm_recall.note import Note, parse_note, stored_text
from agentm_recall.supersession import target_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from agentm_kernel.plugin import Info, StorageBackend
    from agentm_recall.index.database import Database
    from agentm_recall.index.differences import Difference, Progress

_BATCH = 200
"""Notes per transaction: enough to be fast, few enough that nobody waits for a commit."""
_LONGEST_PART = 500_000
"""Characters. A question finds a note that is longer than two of them by its beginning and its end: journals grow."""
LISTED = "listed"
"""When everything was listed last, as a fact of the index."""
_RESTLESS = 2.0
"""Seconds. A file that changed this recently may change again without its version showing it."""


def apply_difference(
    database: Database,
    backend: StorageBackend,
    difference: Difference,
    *,
    deadline: float | None = None,
    progress: Progress = silent,
    is_kept: bool = True,
) -> Changes:
    """Read what differs and index it, as far as the deadline (of `time.monotonic`) allows.

    An index that answers one question and is not kept has no use for what serves later ones: hashes, and the names of
    things. Finding both loads `hashlib` and `re`, which take a prompt longer than a bare interpreter.
    """
    looked_at = indexed = 0
    removed = list(difference.gone)
    batch: list[_Read] = []
    for info in progress("indexing", difference.stale):
        if deadline is not None and time.monotonic() > deadline:
            break
        looked_at += 1
        known = difference.hashes.get(info.locator.key)
        read = _read(backend, info, is_kept)
        if read is None:
            removed += [info.locator.key] if known is not None else []
            continue
        batch.append(read)
        indexed += read.digest != known
        if len(batch) >= _BATCH:
            _store(database, batch, (), is_kept)
            batch.clear()
    _store(database, batch, removed, is_kept)
    unreached = len(difference.stale) - looked_at
    if not unreached:
        _keep_folders(database, difference)
    return Changes(looked_at, indexed, len(removed), unreached, difference.reasons)


def _keep_folders(database: Database, difference: Difference) -> None:
    """What was listed, for those who ask by the times of folders. Where nothing differs, nothing is written."""
    known = database.folders([Locator()])
    fresh = [(key, version) for key, version in difference.folders.items() if known.get(key) != version]
    difference.learnt = [*(key for key, _ in fresh), *difference.gone_folders]
    if not difference.learnt and not difference.is_whole:
        return
    with Failures(), _Transaction(database.connection):
        database.connection.executemany("DELETE FROM folders WHERE key = ?", [(k,) for k in difference.gone_folders])
        database.connection.executemany("INSERT OR REPLACE INTO folders (key, version) VALUES (?, ?)", fresh)
        if difference.is_whole:
            listed = (LISTED, time.time())
            database.connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", listed)


# ------------------------------------------------------------------------------------------------ one note


class _Read(Frozen):
    note: Note
    body: str
    digest: str
    version: str
    size: int = 0


def _read(backend: StorageBackend, info: Info, is_kept: bool) -> _Read | None:
    """A note as it is stored now, `None` if it has vanished. One that cannot be read is kept with the reason."""
    key = info.locator.key
    try:
        text = stored_text(backend, info.locator)
    except NotFoundError:
        return None
    except InvalidContentError as error:
        return _Read(_unreadable(key, error.message), "", f"unreadable {info.version}", info.version)
    except StorageError as error:
        return _Read(_unreadable(key, error.message), "", "", "")  # it may be readable the next time
    note, body = parse_note(key, text)
    is_settled = abs(time.time() - info.mtime) > _RESTLESS
    digest = content_hash(text) if is_kept else ""
    return _Read(note, body, digest, info.version if is_settled else "", len(text))


def _ends(body: str) -> str:
    return f"{body[:_LONGEST_PART]}\n{body[-_LONGEST_PART:]}"


def _unreadable(key: str, why: str) -> Note:
    return Note(key, "note", "active", slug_of(key), problem=why)


def _store(database: Database, batch: Sequence[_Read], removed: Sequence[str], is_kept: bool) -> None:
    if not batch and not removed:
        return
    with Failures(), _Transaction(database.connection):
        concerned: set[str] = set()
        for key in removed:
            concerned |= _remove(database.connection, key)
        for read in batch:
            concerned |= _store_one(database.connection, read, is_kept)
        settle_claims(database, concerned)


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


def _remove(connection: sqlite3.Connection, key: str) -> set[str]:
    """By key and inside the transaction: another process may have numbered the rows anew. The slugs whose notes may
    be replaced or not replaced by that.
    """
    row = connection.execute("SELECT id FROM notes WHERE key = ?", (key,)).fetchone()
    if row is None:
        return {slug_of(key)}
    claimed = {slug for (slug,) in connection.execute("SELECT slug FROM claims WHERE note = ?", row)}
    connection.execute("DELETE FROM texts WHERE rowid = ?", row)
    for table, column in (("claims", "note"), ("mentions", "note"), ("notes", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", row)  # noqa: S608 - names of ours
    return {slug_of(key), *claimed}


def _store_one(connection: sqlite3.Connection, read: _Read, is_kept: bool) -> set[str]:
    """Index a note anew unless it says the same as before; the slugs that are concerned."""
    same = "UPDATE notes SET version = ? WHERE key = ? AND hash = ?"
    if read.digest and connection.execute(same, (read.version, read.note.key, read.digest)).rowcount:
        return set()
    concerned = _remove(connection, read.note.key)
    note = read.note
    cursor = connection.execute(
        "INSERT INTO notes (key, version, hash, folder, slug, size, kind, status, title, tags, project, created,"
        " updated, source, confidence, supersedes, problem, verified, stale_after)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            note.key,
            read.version,
            read.digest,
            note.key.rpartition("/")[0],
            note.slug,
            read.size,
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
    body = read.body if len(read.body) <= 2 * _LONGEST_PART else _ends(read.body)
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
    claims = {target_slug(reference) for reference in note.supersedes}
    number = cursor.lastrowid
    connection.executemany("INSERT INTO claims (slug, note) VALUES (?, ?)", [(slug, number) for slug in claims])
    if is_kept:
        from agentm_recall.index.mentions import mentions

        named = [(number, kind, name) for kind, name in mentions(body)]
        connection.executemany("INSERT INTO mentions (note, kind, name) VALUES (?, ?, ?)", named)
    return concerned | claims
