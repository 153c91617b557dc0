"""Judging notes by a long question: a note that answers has to do with one of its passages, not a little with all.

SQLite counts every word of a question alike. Here each word counts by how much it says, more so in a title, and most
where several words of one passage meet in one note. The numbers were fitted to questions that no figure reports.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.index.contents import Contents
    from agentm_recall.index.plan import Plan

_IN_TITLE = 1.2
_IN_TITLE_OF_PASTE = 0.4
"""A trace repeats names of parts all over; titles that only name the part must not win by that."""
_WHOLE = 0.6
_SECOND_PASSAGE = 0.2
_IDENTIFIER = 2.0


def rescored(plan: Plan, contents: Contents, ranked: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The rows with scores of their own, smaller being better as in SQLite."""
    passages = [{stem for word in words for stem in plan.stems_of.get(word, ())} for words in plan.question.passages]
    scored = [(number, -_score(plan, contents, number, passages)) for number, _ in ranked]
    return sorted(scored, key=lambda item: item[1])


def _score(plan: Plan, contents: Contents, number: int, passages: list[set[str]]) -> float:
    head, body = contents.heads.get(number, set()), contents.bodies.get(number, set())
    in_title = _IN_TITLE_OF_PASTE if plan.question.is_pasted else _IN_TITLE
    worth = {
        stem: weight * ((stem in body) + in_title * (stem in head))
        for stem, weight in plan.stems.items()
        if stem in body or stem in head
    }
    by_passage = sorted((sum(worth.get(stem, 0.0) for stem in stems) for stems in passages), reverse=True)
    best, second, *_ = (*by_passage, 0.0, 0.0)
    together = sum(
        min(_most(plan, worth, first), _most(plan, worth, second)) for first, second in plan.question.pairs
    )
    whole = sum(weight for stem, weight in plan.whole.items() if stem in body or stem in head)
    return _WHOLE * sum(worth.values()) + best + _SECOND_PASSAGE * second + together + _IDENTIFIER * whole


def _most(plan: Plan, worth: dict[str, float], word: str) -> float:
    return max((worth.get(stem, 0.0) for stem in plan.stems_of.get(word, ())), default=0.0)
