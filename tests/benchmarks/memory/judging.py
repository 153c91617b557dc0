"""Judging lists of answers: how many of the right ones are near the top, and how soon the first one comes."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass
class Marks:
    """What one way of answering earned."""

    at_5: list[float] = field(default_factory=list)
    at_10: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)
    wrong_above: int = 0

    def judge(self, ranked: Sequence[str], answers: Collection[str], wrong: Collection[str] = ()) -> None:
        self.at_5.append(len(set(ranked[:5]) & set(answers)) / len(answers))
        self.at_10.append(len(set(ranked[:10]) & set(answers)) / len(answers))
        first = next((place for place, key in enumerate(ranked, start=1) if key in answers), None)
        self.reciprocal.append(1 / first if first else 0.0)
        before = ranked[: first - 1] if first else ranked
        self.wrong_above += any(key in wrong for key in before)

    def figures(self, who: str) -> dict[str, float]:
        return {
            f"{who} @5 (%)": 100 * statistics.mean(self.at_5),
            f"{who} @10 (%)": 100 * statistics.mean(self.at_10),
            f"{who} MRR (%)": 100 * statistics.mean(self.reciprocal),
        }


@dataclass
class Places:
    """Where the answers stood: first, among five, all of them among five; and whether the notes would be given."""

    first: list[bool] = field(default_factory=list)
    any_of_5: list[bool] = field(default_factory=list)
    all_of_5: list[bool] = field(default_factory=list)
    given: list[bool] = field(default_factory=list)
    lost: list[bool] = field(default_factory=list)
    wrong_above: int = 0

    def judge(
        self, ranked: Sequence[str], answers: Collection[str], wrong: Collection[str] = (), *, given: bool = True
    ) -> None:
        self.given.append(given)
        if not answers:
            return
        self.first.append(bool(ranked) and ranked[0] in answers)
        self.any_of_5.append(any(key in answers for key in ranked[:5]))
        self.lost.append(self.any_of_5[-1] and not given)
        self.all_of_5.append(set(answers) <= set(ranked[:5]))
        best = next((place for place, key in enumerate(ranked) if key in answers), len(ranked))
        self.wrong_above += any(key in wrong for key in ranked[:best])

    @property
    def share_given(self) -> float:
        return statistics.mean(self.given)

    @property
    def share_lost(self) -> float:
        """Of the questions with an answer, those that had it among five notes and were not given it."""
        return statistics.mean(self.lost)

    def figures(self, who: str) -> dict[str, float]:
        return {
            f"{who} hit@1": statistics.mean(self.first),
            f"{who} any@5": statistics.mean(self.any_of_5),
            f"{who} all@5": statistics.mean(self.all_of_5),
        }
