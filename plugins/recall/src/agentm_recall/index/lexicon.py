"""What the index knows about words: their stems as its own tokenizer makes them, and how many notes have each.

SQLite is asked, in tables that live in memory beside the open index, so that no word is ever read in two ways.
"""

from __future__ import annotations

from math import log

from agentm_recall.index.database import TOKENIZER, Failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentm_recall.index.database import Database

_HEARD = f"text, content = '', columnsize = 0, tokenize = '{TOKENIZER}'"  # what is heard need not be kept
_TABLES = (
    "PRAGMA temp_store = MEMORY",
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.known USING fts5vocab (main, texts, row)",
    f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.heard USING fts5 ({_HEARD})",
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.heard_words USING fts5vocab (temp, heard, instance)",
)

_AS_IF = 50
"""So many more notes are assumed: in a store of three, a word that two of them have still says something."""

_ALL_IT_CAN_TELL = 5.41
"""What a word tells that one of three hundred notes has. A rarer one tells no more: a note that answers in a small
store answers in a large one too, where every word is in more notes.
"""


class Lexicon:
    """The words of one index."""

    def __init__(self, database: Database) -> None:
        self._connection = database.connection
        self._notes = database.count() + _AS_IF
        with Failures():
            for statement in _TABLES:
                self._connection.execute(statement)

    def stems(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """The stem of each word; several where the tokenizer splits it, none where it is no word."""
        found: list[list[str]] = [[] for _ in words]
        for number, stem in self._heard(words):
            found[number].append(stem)
        return [tuple(stems) for stems in found]

    def contents(self, texts: Sequence[str]) -> list[set[str]]:
        """The stems that each text has."""
        found: list[set[str]] = [set() for _ in texts]
        for number, stem in self._heard(texts):
            found[number].add(stem)
        return found

    def counts(self, stems: Iterable[str]) -> dict[str, int]:
        """How many notes have each stem; those that none has are left out."""
        found = {}
        for stem in stems:
            with Failures():
                row = self._connection.execute("SELECT doc FROM temp.known WHERE term = ?", (stem,)).fetchone()
            if row:
                found[stem] = int(row[0])
        return found

    def rarity(self, counts: Mapping[str, int]) -> dict[str, float]:
        """How much each stem tells, from 0 (every note has it) to 1 (next to none has it)."""
        most = min(self._information(1), _ALL_IT_CAN_TELL)
        return {stem: min(1.0, self._information(count) / most) for stem, count in counts.items()}

    def _information(self, notes: int) -> float:
        return log(1 + (self._notes - notes + 0.5) / (notes + 0.5))

    def _heard(self, texts: Sequence[str]) -> list[tuple[int, str]]:
        with Failures():
            self._connection.execute("BEGIN")
            try:
                self._connection.executemany("INSERT INTO temp.heard (rowid, text) VALUES (?, ?)", enumerate(texts))
                return self._connection.execute("SELECT doc, term FROM temp.heard_words").fetchall()
            finally:
                self._connection.execute("ROLLBACK")
