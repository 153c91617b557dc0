"""Codex: notes that it takes into its memory, one file each, in `extensions/ad_hoc/notes` of its memory folder."""

from __future__ import annotations

import re
from itertools import chain, count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.exports.stored import StoredNote

_FOLDER = "extensions/ad_hoc/notes"
_LONGEST_SLUG = 80
"""Bytes, and nothing but lower-case letters, digits and hyphens: Codex refuses other names."""


def codex_files(notes: list[StoredNote]) -> dict[str, str]:
    """Path and text of each file."""
    files: dict[str, str] = {}
    for note in notes:
        path = next(path for path in _paths(note) if path not in files)
        body = note.body.strip()
        title = "" if body.startswith("#") else f"# {note.title}\n\n"
        files[path] = f"{title}{body}\n"
    return files


def _paths(note: StoredNote) -> Iterator[str]:
    """Names that Codex accepts for a note, until one is free: its own, with its kind, with a number."""
    match = re.match(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d):(\d\d))?", note.changed)
    day, hour, minute, second = match.groups() if match else ("2000-01-01", "00", "00", "00")
    stamp = f"{day}T{hour or '00'}-{minute or '00'}-{second or '00'}"
    plain = re.sub(r"[^a-z0-9]+", "-", note.slug.encode("ascii", "ignore").decode().lower()).strip("-") or "note"
    for added in chain(("", f"-{note.kind}"), (f"-{number}" for number in count(2))):
        slug = plain[: _LONGEST_SLUG - len(added)].rstrip("-") + added
        yield f"{_FOLDER}/{stamp}-{slug}.md"
