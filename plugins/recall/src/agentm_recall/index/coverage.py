"""Whether the best notes answer at all: how much of what the question is about they cover.

Words that no note has count as well: a question about the colour of the logo is not answered by a note about colour.
What is measured is put together by two small models, one for short questions and one for long ones, fitted to
`tests/benchmarks/memory/tuning.txt` and the first questions of the benchmark; the figures report others.
"""

from __future__ import annotations

from math import exp

from agentm_kernel.plugin import Frozen
from agentm_recall.index.words import ABBREVIATIONS, says_little

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_recall.index.contents import Contents
    from agentm_recall.index.plan import Plan

ENOUGH = 0.3
"""Below this, nothing is said to a prompt, and a search says that nothing seems to answer."""

_OF_ASKING = 0.5
"""What a word like "write" or "version" counts in a short question."""
_A_WORD = 0.3
"""What a word must count to be one that was found."""


_ONE_OF_MANY = 0.2
"""A single word that is no more than this of a question answers it by accident."""


class _Model(Frozen):
    """How much each thing that is measured says, in the order of `_Measured`; more of it than `most` says no more."""

    weights: tuple[float, ...]
    most: tuple[float, ...]
    base: float


_SHORT = _Model((1.6, 1.8, 1.8, 1.4, 1.5), (3.0, 1.0, 3, 1.0, 2.0), -5.1)
_LONG = _Model((0.75, 1.9, 0.8, 2.0, 1.5), (5.0, 1.0, 6, 2.0, 2.0), -3.9)


class _Measured(Frozen):
    covered: float
    """The weight of the words that the note has, of a long question in its best passage."""
    share: float
    words: int
    identifiers: float
    title: float

    @property
    def values(self) -> tuple[float, ...]:
        return self.covered, self.share, self.words, self.identifiers, self.title


def confidence(plan: Plan, contents: Contents, number: int) -> float:
    """From 0 to 1, for the note of that row."""
    measured = _measure(plan, contents, number)
    if not measured.covered:
        return 0.0
    model = _SHORT if plan.question.is_short else _LONG
    parts = zip(model.weights, measured.values, model.most, strict=True)
    total = sum(weight * min(value, most) for weight, value, most in parts)
    sure = 1 / (1 + exp(-(total + model.base)))
    is_one_of_many = measured.words <= 1 and measured.share < _ONE_OF_MANY and not measured.identifiers
    return sure / 2 if is_one_of_many else sure


def _measure(plan: Plan, contents: Contents, number: int) -> _Measured:
    question = plan.question
    weight = {
        word: told * (_OF_ASKING if question.is_short and says_little(word) else 1.0)
        for word, told in plan.told.items()
    }
    found = {word for word in weight if _is_there(plan, contents, number, word)}
    head = contents.heads.get(number, set())
    passages = [list(question.words)] if question.is_short else question.passages
    covered, share, words = max((_covered(passage, weight, found) for passage in passages), default=(0.0, 0.0, 0))
    return _Measured(
        covered,
        share,
        words,
        sum(counts for stem, counts in plan.whole.items() if contents.has(number, stem)),
        sum(weight[word] for word in found if head.issuperset(plan.stems_of[word])),
    )


def _covered(passage: Iterable[str], weight: dict[str, float], found: set[str]) -> tuple[float, float, int]:
    told = {word for word in passage if word in weight}
    total = sum(weight[word] for word in told)
    covered = sum(weight[word] for word in told & found)
    return covered, covered / total if total else 0.0, sum(weight[word] > _A_WORD for word in told & found)


def _is_there(plan: Plan, contents: Contents, number: int, word: str) -> bool:
    spellings = (word, *ABBREVIATIONS.get(word, ())) if plan.question.is_short else (word,)
    return any(
        stems and all(contents.has(number, stem) for stem in stems)
        for stems in (plan.stems_of.get(spelling, ()) for spelling in spellings)
    )
