"""The text of an imported note: the source's words below front matter that says where they came from.

The text depends on the item alone, never on the time of the import: that is how a note that was written just before
the import was killed is recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_import.ledger import digest
from agentm_kernel.plugin import InvalidContentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_import.contract import NoteFormat
    from agentm_import.items import Item
    from agentm_import.ledger import Entry
    from agentm_kernel.plugin import Locator

_LONGEST_FIELD = 200


def note_text(
    notes: NoteFormat, source: str, item: Item, place: Locator, folder: Locator | None, supersedes: tuple[str, ...]
) -> str:
    """What is written at `place`."""
    if item.key:
        return item.body
    fields = _fields(source, item, folder, supersedes)
    if item.verbatim:
        return _with_provenance(notes, item, place, fields)
    body = item.body.lstrip("\n")
    return notes.render(fields, body if body.endswith("\n") else f"{body}\n")


def _fields(
    source: str, item: Item, folder: Locator | None, supersedes: tuple[str, ...]
) -> dict[str, str | Sequence[str]]:
    wanted: dict[str, str | Sequence[str]] = {
        "kind": item.kind,
        "status": item.status,
        "title": one_line(item.title),
        "tags": tuple(filter(None, (one_line(tag) for tag in item.tags))),
        "project": folder.name if folder is not None else "",
        "created": one_line(item.created),
        "updated": one_line(item.updated or item.created),
        "source": source,
        "origin": " ".join(item.origin.split()),
        "supersedes": supersedes,
    }
    for name, value in item.extra.items():
        wanted.setdefault(name, one_line(value) if isinstance(value, str) else tuple(map(one_line, value)))
    return {name: value for name, value in wanted.items() if value}


def one_line(text: str) -> str:
    """A value for the front matter: one line without control characters, of bounded length."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _LONGEST_FIELD])
    return " ".join(plain.split())[:_LONGEST_FIELD].strip()


def _with_provenance(notes: NoteFormat, item: Item, place: Locator, fields: dict[str, str | Sequence[str]]) -> str:
    """A file as it was, with the fields added that it does not have; where that cannot be done, as it was."""
    own, _, problem = notes.parse(item.body)
    if problem:
        return item.body
    added = {name: value for name, value in fields.items() if name not in own and name not in ("status", "kind")}
    if item.status != "active" and "status" in own:
        added |= {"status": item.status, "original_status": str(own["status"])}
    if "kind" not in own and item.kind != "reference":
        added["kind"] = item.kind
    try:
        return notes.with_fields(place.key, item.body, added)
    except InvalidContentError:
        return item.body


def renewed_text(notes: NoteFormat, text: str, current: str, entry: Entry | None) -> str | None:
    """The note as it is now with the source's new words; `None` if its own words were edited here meanwhile.

    Whoever forgets, confirms or retags an imported note changes its front matter: that stays.
    """
    if entry is None or not entry.note.endswith(_body_mark(notes, current)):
        return None
    _, body, _ = notes.parse(text)
    try:
        return notes.with_body(current, body.removeprefix("\n"))
    except InvalidContentError:
        return None


def _body_mark(notes: NoteFormat, text: str) -> str:
    return f"+{digest(notes.parse(text)[1])}"


def note_mark(notes: NoteFormat, text: str) -> str:
    """What the record keeps of a note: of the whole of it, and of its body."""
    return digest(text) + _body_mark(notes, text)
