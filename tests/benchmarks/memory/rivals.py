"""What recall is compared with: the two things that anybody has at hand."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = re.compile(r"\w+")


class PlainBm25:
    """SQLite FTS5 as it comes: the whole file in one column, its tokenizer (or its stemmer), any of the words."""

    def __init__(self, texts: Mapping[str, str], *, stemmed: bool = False) -> None:
        self._keys = list(texts)
        self._connection = sqlite3.connect(":memory:")
        tokenizer = "porter unicode61" if stemmed else "unicode61"
        self._connection.execute(f"CREATE VIRTUAL TABLE notes USING fts5 (text, tokenize = '{tokenizer}')")
        self._connection.executemany("INSERT INTO notes VALUES (?)", ((text,) for text in texts.values()))

    def ask(self, question: str, limit: int) -> list[str]:
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(question)))
        rows = self._connection.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (expression, limit)
        )
        return [self._keys[row[0] - 1] for row in rows]


class Grep:
    """`grep -i` for every word: notes with more of the words first, then those with more lines that match."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {key: text.lower() for key, text in texts.items()}

    def ask(self, question: str, limit: int) -> list[str]:
        words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
        scored = []
        for key, text in self._texts.items():
            found = [word for word in words if word in text]
            lines = sum(any(word in line for word in found) for line in text.splitlines())
            if found:
                scored.append((-len(found), -lines, key))
        return [key for _, _, key in sorted(scored)[:limit]]
