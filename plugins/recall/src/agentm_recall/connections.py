"""What connects notes: one replaces another, names it in double brackets, or speaks of the same file."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentm_recall.index.database import Failures
from agentm_recall.layout import slug_of
from agentm_recall.supersession import names, target_slug

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_recall.index.database import Database

    Connection = tuple[str, str, str, str]

_WIKI = re.compile(r"\[\[([^\[\]|#\n]{1,200})")
_FILE = re.compile(r"[\w.-]{1,60}(?:/[\w.-]{1,60}){1,8}\.[A-Za-z]{1,5}\b")
_CROWD = 12
"""A file that more notes speak of connects nothing: everything is about it."""
_READ = 20_000
"""Characters of a note that are looked through."""


def connections(database: Database) -> list[Connection]:
    """Two keys, what connects them (`supersedes`, `link`, `file`), and the file."""
    with Failures():
        rows = database.connection.execute(
            "SELECT notes.key, notes.supersedes, substr(texts.body, 1, ?) FROM notes JOIN texts"
            " ON texts.rowid = notes.id WHERE notes.status != 'deleted' ORDER BY notes.key",
            (_READ,),
        ).fetchall()
    by_slug: dict[str, list[str]] = {}
    for key, _, _ in rows:
        by_slug.setdefault(slug_of(key), []).append(key)
    found: dict[Connection, None] = {}
    files: dict[str, list[str]] = {}
    for key, claims, body in rows:
        for other in _meant(claims.split("\n") if claims else [], key, by_slug):
            found[key, other, "supersedes", ""] = None
        for other in _meant(_WIKI.findall(body), key, by_slug):
            found[key, other, "link", ""] = None
        for file in set(_FILE.findall(body)):
            files.setdefault(file, []).append(key)
    for file, keys in sorted(files.items()):
        if 1 < len(keys) <= _CROWD:
            found |= {(one, other, "file", file): None for one, other in pairwise(keys)}
    return list(found)


def _meant(references: list[str], key: str, by_slug: dict[str, list[str]]) -> Iterator[str]:
    for reference in references:
        fitting = [
            other for other in by_slug.get(target_slug(reference.strip()), ()) if names(reference.strip(), other)
        ]
        if len(fitting) == 1 and fitting[0] != key:
            yield fitting[0]
