"""Codex: notes that it takes into its memory, one file each, in `extensions/ad_hoc/notes` of its memory folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentm_import.exports.stored import StoredNote

_FOLDER = "extensions/ad_hoc/notes"
_LONGEST_NAME = 128


def codex_files(notes: list[StoredNote]) -> dict[str, str]:
    """Path and text of each file."""
    files: dict[str, str] = {}
    for note in notes:
        path = f"{_FOLDER}/{_name(note)}"
        if path in files:
            path = f"{path[:-3]}-{note.kind}.md"
        body = note.body.strip()
        title = "" if body.startswith("#") else f"# {note.title}\n\n"
        files[path] = f"{title}{body}\n"
    return files


def _name(note: StoredNote) -> str:
    match = re.match(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d):(\d\d))?", note.changed)
    day, hour, minute, second = match.groups() if match else ("2000-01-01", "00", "00", "00")
    stamp = f"{day}T{hour or '00'}-{minute or '00'}-{second or '00'}"
    slug = re.sub(r"[^a-z0-9]+", "-", note.slug.encode("ascii", "ignore").decode().lower()).strip("-") or "note"
    return f"{stamp}-{slug}"[: _LONGEST_NAME - 3].rstrip("-") + ".md"
