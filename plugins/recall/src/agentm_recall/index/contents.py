"""What the notes that were found hold, as stems: for weighing words, for telling how alike two notes are.

A note is one fact, so its beginning is enough; reading more would cost time that a hook does not have.
"""

from __future__ import annotations

from agentm_recall.index.database import Failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
        # All in one go: every asking is a transaction.
        parts = [part for _, title, head, body, hidden in rows for part in (head, f"{title} {body}", hidden)]
        stems = iter(lexicon.contents(parts))
        self.heads: dict[int, set[str]] = {}
        self.bodies: dict[int, set[str]] = {}
        self._texts: dict[int, set[str]] = {}
        for number, *_ in rows:
            self.heads[number], self._texts[number], hidden_stems = next(stems), next(stems), next(stems)
            self.bodies[number] = self._texts[number] | hidden_stems

    def has(self, number: int, stem: str) -> bool:
        return stem in self.bodies.get(number, ()) or stem in self.heads.get(number, ())

    def are_alike(self, first: int, second: int) -> bool:
        """Whether two notes say nearly the same, or the same of other values."""
        one, other = self._texts.get(first, set()), self._texts.get(second, set())
        common = len(one & other)
        return common >= _ALIKE * min(len(one), len(other)) and common >= _ALIKE_IN_ALL * len(one | other) > 0
