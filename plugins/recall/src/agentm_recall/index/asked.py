"""An index that is open, and beside it, in memory, what the file does not know yet.

Scores of two indexes do not compare. How much of the question a note covers does, so a note that has just changed
takes its place among the others by that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from agentm_recall.index.database import Database
    from agentm_recall.index.differences import Changes
    from agentm_recall.index.search import Hit, Result, Scope
    from agentm_recall.note import Note


class Opened:
    """It answers for the store as it is now, as far as `changes` and `notices` do not say otherwise."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        notices: Sequence[str],
        fresh: Database | None = None,
        hidden: set[str] | None = None,
    ) -> None:
        self.database = database
        self.changes = changes
        self.notices = tuple(notices)
        """Why the file on disk was not used or not kept up to date; for people."""
        self.fresh = fresh
        """What has changed since; nothing of `hidden`, keys of the file, is to be believed then."""
        self.hidden = hidden or set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()
        if self.fresh is not None:
            self.fresh.close()

    def database_of(self, hit: Hit) -> Database:
        """Where the text of a hit is."""
        return self.fresh if hit.is_fresh and self.fresh is not None else self.database

    def claimants(self, slug: str) -> list[Note]:
        """The notes that say that they replace one of this slug."""
        condition = "id IN (SELECT note FROM claims WHERE slug = ?)"
        found = [note for note in self.database.select_notes(condition, slug) if note.key not in self.hidden]
        return found if self.fresh is None else [*found, *self.fresh.select_notes(condition, slug)]

    def search(self, question: str, scope: Scope, *, limit: int = 10, today: float | None = None) -> Result:
        """The best notes of both."""
        from agentm_recall.index.search import search  # writers open an index too, and ask nothing

        more = min(len(self.hidden), limit)
        result = search(self.database, question, scope, limit=limit + more, today=today)
        if self.fresh is None:
            return result
        from agentm_recall.supersession import superseded_keys

        other = search(self.fresh, question, scope, limit=limit, today=today)
        notes = [hit.note for hit in result.hits if hit.note.key not in self.hidden]
        notes += self.fresh.select_notes("supersedes != ''")
        for hit in other.hits:
            notes += (hit.note, *self.claimants(hit.note.slug))
        dead = superseded_keys({note.key: note for note in notes}.values())
        return _merged(result, other, set() if scope.with_dead else dead, self.hidden, limit)


def _merged(result: Result, other: Result, dead: set[str], hidden: set[str], limit: int) -> Result:
    from agentm_recall.index.search import Result

    pairs = [
        (hit, sure)
        for hit, sure in zip(result.hits, _padded(result), strict=True)
        if hit.note.key not in hidden and not (hit.is_current and hit.note.key in dead)
    ]
    for hit, sure in zip(other.hits, _padded(other), strict=True):
        if hit.is_current and hit.note.key in dead:
            continue
        place = next((at for at, (_, known) in enumerate(pairs) if known < sure), len(pairs))
        pairs.insert(place, (hit.as_fresh(), sure))
    pairs = pairs[:limit]
    best = max((sure for _, sure in pairs[:3]), default=0.0)
    sures = tuple(sure for _, sure in pairs)
    return Result([hit for hit, _ in pairs], result.plan or other.plan, best, sures, result.dead + other.dead)


def _padded(result: Result) -> list[float]:
    """How sure each hit is; those beyond the ones that were compared are not."""
    return [*result.confidences, *[0.0] * (len(result.hits) - len(result.confidences))]
