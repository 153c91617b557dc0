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
