"""Notes as a service for a person's page (group `agentm.notes`): plain data in and out, every change on condition.

The page is another distribution, and neither knows the other. What is given and taken is described in
`docs/reference/page.md`; the page's tests hold this module to it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    content_hash,
    read_record,
    refuse_secrets,
)
from agentm_recall.editing import with_fields
from agentm_recall.front_matter import find_block, read_fields
from agentm_recall.gathering import gather
from agentm_recall.index.database import Failures, IndexUnavailable
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.search import Scope
from agentm_recall.layout import ALWAYS_LOAD_KIND, KINDS, is_note, project_of
from agentm_recall.named_projects import project_there
from agentm_recall.note import ACTIVE, DELETED, SUPERSEDED, parse_note
from agentm_recall.replacing import refuse_if_replaced
from agentm_recall.saving import Draft, save_note, slugify
from agentm_recall.scopes import own_store
from agentm_recall.searching import CLOSE, OPEN, answer
from agentm_recall.supersession import superseded_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Device, StorageBackend
    from agentm_recall.index.asked import Opened
    from agentm_recall.index.database import Database
    from agentm_recall.note import Note
    from agentm_recall.searching import Found

_A_SECOND, _A_MINUTE = 1.0, 60.0
_KNOWN = frozenset(
    ("kind", "status", "title", "tags", "project", "created", "updated", "source", "confidence", "supersedes")
)
_LONGEST = 300
_MOST_FIELDS = 12
_MOST_ENDINGS = 4
"""So many words that begin with what was typed last are looked for."""
_WHERE = {"title": "in the title", "name": "in its name or tags", "body": "in the text", "hidden": "inside a name"}


def open_notes(device: Device) -> NotesService:
    """The notes of the store that `device` has selected."""
    return NotesService(device)


class NotesService:
    """Reading, searching and changing notes. Each question opens the store anew, so a store that goes is noticed."""

    kinds = KINDS

    def __init__(self, device: Device) -> None:
        self._device = device

    # -- reading ----------------------------------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """Every note without its text, newest first, and what could not be read."""
        catalog = gather(self._store(), [Locator()], deadline=time.monotonic() + _A_MINUTE)
        replaced = superseded_keys(catalog.notes)
        ordered = sorted(catalog.notes, key=lambda note: (note.changed, note.key), reverse=True)
        return {
            "notes": [_fields(note, is_replaced=note.key in replaced) for note in ordered],
            "problems": list(catalog.problems),
            "unreached": catalog.unreached,
        }

    def count(self, store: StorageBackend, folder: Locator) -> tuple[int, int]:
        """How many notes below `folder` are told to agents, and how many could not be looked at within a second."""
        catalog = gather(store, [folder], deadline=time.monotonic() + _A_SECOND)
        replaced = superseded_keys(catalog.notes)
        told = [note for note in catalog.notes if note.status != DELETED and note.key not in replaced]
        return len(told), catalog.unreached

    def read(self, key: str) -> dict[str, Any]:
        """One note: its fields, its whole text, the body without front matter, and the hash that changes need."""
        text = self._store().read(_locator(key))
        note, body = parse_note(key, text)
        return {**_fields(note), "text": text, "body": body, "hash": content_hash(text), "more": _more(text)}

    def search(
        self, question: str, *, project: str | None = None, kind: str | None = None, limit: int = 30
    ) -> dict[str, Any]:
        """The best answers with the reason for each, from the index as it is: see `refresh`. The last word may be
        the beginning of one, as long as it is being typed.
        """
        scope = Scope(project, None, kind)

        def look(opened: Opened) -> list[Found]:
            whole = _with_endings(opened.database, question)
            return answer(opened, whole, scope, limit, explain=True).found

        found = RecallIndex(self._store()).ask(look, may_write=False, look_only=True)
        return {"found": [_answer(one) for one in found]}

    def refresh(self) -> str | None:
        """Bring the index up to date; why that cannot be done, if it cannot. Notes are found without it, later."""
        with _refreshing:
            try:
                RecallIndex(self._store()).update(wait=5.0)
            except IndexUnavailable as error:
                return f"searching may miss the newest notes: {error}"
        return None

    def links(self) -> list[tuple[str, str, str, str]]:
        """What connects notes: two keys, `supersedes`, `link` or `file`, and what it is about."""
        from agentm_recall.connections import connections

        def answer(opened: Opened) -> list[tuple[str, str, str, str]]:
            return connections(opened.database)

        return RecallIndex(self._store()).ask(answer, may_write=False, look_only=True)

    # -- changing ---------------------------------------------------------------------------------------------

    def write(self, key: str, text: str, expect: str) -> str:
        """Replace the whole text of a note that still has the hash `expect`, or is `absent`; its new hash."""
        refuse_secrets("the note", text)
        store = self._store(read_only=False)
        if expect == "absent":
            _refuse_unread(store, _locator(key))
        store.write(_locator(key), text, if_match=ABSENT if expect == "absent" else expect)
        self._tell_index(store, key)
        return content_hash(text)

    def set_status(self, key: str, status: str, expect: str) -> str:
        """Forget a note (`deleted`), say that another has replaced it (`superseded`) or take that back (`active`)."""
        if status not in (ACTIVE, DELETED, SUPERSEDED):
            raise InvalidContentError(f"there is no status {status!r}")
        store = self._store(read_only=False)
        current = store.read(_locator(key))
        if content_hash(current) != expect:
            raise ConcurrentModificationError(f"'{key}' was changed meanwhile", hint="look at it again")
        if status == ACTIVE:
            refuse_if_replaced(store, _locator(key), parse_note(key, current)[0].kind, current)
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        return self.write(key, with_fields(key, current, {"status": status, "updated": moment}), expect)

    def save(self, fields: Mapping[str, str]) -> str:
        """A new note: `kind`, `name`, `body`, and perhaps `tags` (with commas), `project`, `supersedes` (a key).

        A note that is there under that name is never touched.
        """
        store = self._store(read_only=False)
        replaced = fields.get("supersedes", "").strip()
        draft = Draft(
            kind=fields.get("kind", ""),
            slug=slugify(fields.get("name", ""))[:80].strip("-"),
            body=fields.get("body", ""),
            tags=tuple(tag for part in fields.get("tags", "").split(",") if (tag := part.strip())),
            source="operator",
            supersedes=(replaced.removesuffix(".md"),) if replaced else (),
        )
        project = fields.get("project", "").strip()
        folder = project_there(store, project) if project and draft.kind != ALWAYS_LOAD_KIND else None
        if folder is None:
            store = own_store(self._device)  # what is personal is not saved where a team reads it
        saved = save_note(store, draft, project=folder)
        for locator in (saved.locator, *saved.superseded):
            self._tell_index(store, locator.key)
        return saved.locator.key

    def _tell_index(self, store: StorageBackend, key: str) -> None:
        RecallIndex(store).note_written([Locator(key)])

    def _store(self, *, read_only: bool = True) -> StorageBackend:
        return self._device.store(read_only=read_only)


_refreshing = Lock()
"""One at a time: several questions of one page come at once, and one of them does the work."""


def _locator(key: str) -> Locator:
    locator = Locator(key)
    if not locator.key or not is_note(locator.key):
        raise NotFoundError(f"'{key}' is not a note", hint="`agentm notes list` shows the notes")
    return locator


def _refuse_unread(store: StorageBackend, locator: Locator) -> None:
    """Refuse a note under a name that its project has left while somebody wrote: nobody would read it there."""
    project = project_of(locator.key)
    record = None if project is None else read_record(store, project)
    if record is not None and (away := record.unread_in(Locator("/".join(locator.parts[:2])))):
        raise LocatorConflictError(away, hint="look for the note there, and write into it: your text is kept here")


def _fields(note: Note, *, is_replaced: bool = False) -> dict[str, Any]:
    status = SUPERSEDED if is_replaced and note.status != DELETED else note.status
    return {
        "key": note.key,
        "title": note.title,
        "kind": note.kind,
        "status": status,
        "current": status not in (DELETED, SUPERSEDED),
        "tags": list(note.tags),
        "project": note.project,
        "created": note.created,
        "updated": note.updated,
        "changed": note.changed,
        "source": note.source,
        "confidence": note.confidence,
        "supersedes": list(note.supersedes),
        "problem": note.problem,
    }


def _more(text: str) -> list[tuple[str, str]]:
    """What else the front matter says: where an imported note came from, when it was confirmed."""
    block = find_block(text)
    fields, _ = read_fields(text[block.start : block.end]) if block else ({}, None)
    more = ((name, value if isinstance(value, str) else ", ".join(value)) for name, value in fields.items())
    return [(name[:40], value[:_LONGEST]) for name, value in more if value and name not in _KNOWN][:_MOST_FIELDS]


# ------------------------------------------------------------------------------------------------ searching


def _with_endings(database: Database, question: str) -> str:
    """The question with the words of the index that begin with its last one, the most frequent first."""
    last = question.rsplit(maxsplit=1)[-1].lower() if question.strip() and not question[-1].isspace() else ""
    if len(last) < 2 or not last.isalnum():
        return question
    with Failures():
        database.connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, texts, row)")
        rows = database.connection.execute(
            "SELECT term FROM temp.words WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?",
            (last, last[:-1] + chr(ord(last[-1]) + 1), _MOST_ENDINGS),
        ).fetchall()
    return " ".join([question, *(term for (term,) in rows if term != last)])


def _without(pieces: list[tuple[str, bool]], head: str) -> list[tuple[str, bool]]:
    """The snippet without the note's title, which is shown above it."""
    if not "".join(text for text, _ in pieces).startswith(head):
        return pieces
    rest, left = [], len(head)
    for text, is_marked in pieces:
        if text[left:]:
            rest.append((text[left:], is_marked))
        left = max(0, left - len(text))
    return rest


def _answer(found: Found) -> dict[str, Any]:
    pieces: list[tuple[str, bool]] = []
    for number, part in enumerate(found.snippet.split(OPEN)):
        marked, _, plain = part.partition(CLOSE) if number else ("", "", part)
        pieces += [(text, is_marked) for text, is_marked in ((marked, True), (plain, False)) if text]
    pieces = _without(pieces, f"# {found.hit.note.title} ")
    why = [f"{', '.join(words)} {_WHERE.get(column, column)}" for column, words in found.words.items()]
    why += [f"{name} counts {factor:.2f}" for name, factor in found.hit.signals.items()]
    return {**_fields(found.hit.note), "snippet": pieces, "why": why}
