"""What the notes that were found hold, as stems: for weighing words, for telling how alike two notes are.

A note is one fact, so its beginning is enough; reading more would cost time that a hook does not have.
"""

from __future__ import annotations

from agentm_recall.index.database import Failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentm_recall.index.database import Database
    from agentm_recall.index.lexicon import Lexicon

_LOOKED_AT = 6_000
"""Characters of a body."""
_ALIKE = 0.6
_ALIKE_IN_ALL = 0.4


class Contents:
    """The stems of some notes, by their rows: those of title and name, and those of the text."""

    def __init__(self, database: Database, lexicon: Lexicon, numbers: Iterable[int]) -> None:
        wanted = list(dict.fromkeys(numbers))
        marks = ",".join("?" * len(wanted))
        with Failures():
            rows = database.connection.execute(
                "SELECT rowid, title, title || ' ' || name, substr(body, 1, ?), hidden FROM texts"  # noqa: S608
                f" WHERE rowid IN ({marks})",
                [_LOOKED_AT, *wanted],
            ).fetchall()
        heads = lexicon.contents([row[2] for row in rows])
        texts = lexicon.contents([f"{row[1]} {row[3]}" for row in rows])
        hidden = lexicon.contents([row[4] for row in rows])
        self.heads: Mapping[int, set[str]] = {row[0]: head for row, head in zip(rows, heads, strict=True)}
        self._texts = {row[0]: text for row, text in zip(rows, texts, strict=True)}
        self.bodies: Mapping[int, set[str]] = {
            row[0]: text | other for row, text, other in zip(rows, texts, hidden, strict=True)
        }

    def has(self, number: int, stem: str) -> bool:
        return stem in self.bodies.get(number, ()) or stem in self.heads.get(number, ())

    def are_alike(self, first: int, second: int) -> bool:
        """Whether two notes say nearly the same, or the same of other values."""
        one, other = self._texts.get(first, set()), self._texts.get(second, set())
        common = len(one & other)
        return common >= _ALIKE * min(len(one), len(other)) and common >= _ALIKE_IN_ALL * len(one | other) > 0
