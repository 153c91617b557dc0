"""The notes of a store, as exporters need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator, layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.contract import NoteFormat
    from agentm_kernel.plugin import StorageBackend

_POINTERS = f"{layout.REMOTES}/"


@dataclass(frozen=True)
class StoredNote:
    """One note with what its front matter says."""

    key: str
    text: str
    fields: dict[str, str | list[str]]
    body: str
    kind: str

    @property
    def slug(self) -> str:
        return self.key.rpartition("/")[2].removesuffix(".md")

    @property
    def status(self) -> str:
        return self.line("status").lower() or "active"

    @property
    def title(self) -> str:
        heading = next((line.lstrip("# ") for line in self.body[:2000].splitlines() if line.startswith("#")), "")
        return self.line("title") or heading.strip() or self.slug

    @property
    def changed(self) -> str:
        return self.line("updated") or self.line("created")

    def line(self, name: str) -> str:
        value = self.fields.get(name, "")
        return " ".join(value.split()) if isinstance(value, str) else ""

    def lines(self, name: str) -> list[str]:
        value = self.fields.get(name, [])
        return [part for item in (value.split(",") if isinstance(value, str) else value) if (part := item.strip())]

    def summary(self, most: int = 150) -> str:
        """One line that says what the note is about."""
        said = self.line("description") or next(
            (line.strip().lstrip("-*> ") for line in self.body.splitlines() if line.strip() and line[0] != "#"), ""
        )
        plain = " ".join("".join(c if c.isprintable() else " " for c in said).split())
        return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def everything(backend: StorageBackend) -> Iterator[tuple[str, str]]:
    """Key and text of all that is worth leaving with: notes, plans, and the records that say whose a project is.

    The store's own identity and its other records stay: another store has its own.
    """
    for info in backend.walk(Locator()):
        key = info.locator.key
        if not info.is_dir and (not key.startswith(f"{layout.META}/") or key.startswith(_POINTERS)):
            yield key, backend.read(info.locator)


def parsed(notes: NoteFormat, key: str, text: str) -> StoredNote:
    fields, body, _ = notes.parse(text)
    kind = fields.get("kind")
    return StoredNote(key, text, fields, body, kind if isinstance(kind, str) and kind else notes.kind(key))


def current(notes: NoteFormat, places: list[tuple[StorageBackend, Locator]]) -> tuple[list[StoredNote], int]:
    """The notes below the folders that still hold, newest first, and how many do not."""
    found = [
        parsed(notes, info.locator.key, backend.read(info.locator))
        for backend, folder in places
        for info in backend.walk(folder)
        if not info.is_dir and notes.is_note(info.locator.key)
    ]
    replaced = notes.replaced({note.key: note.text for note in found})
    kept = [note for note in found if note.status != "deleted" and note.key not in replaced]
    return sorted(kept, key=lambda note: (note.changed, note.key), reverse=True), len(found) - len(kept)
