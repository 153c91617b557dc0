"""Measuring on a machine that is not quiet: small batches in turn, medians, and ratios of neighbours in time."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """What a benchmark is given: where it may write, and whether to be brief."""

    scratch: Path
    quick: bool

    def rounds(self, full: int, quick: int) -> int:
        return quick if self.quick else full


class Samples:
    """Seconds per call of several pieces of work, one sample of each per round."""

    def __init__(self, samples: Mapping[str, Sequence[float]]) -> None:
        self._samples = samples

    def seconds(self, name: str) -> float:
        return statistics.median(self._samples[name])

    def per_second(self, name: str) -> float:
        return 1 / self.seconds(name)

    def speed(self, name: str, against: str) -> float:
        """How fast `name` is as a multiple of `against`: the median over rounds, in which both met the same noise."""
        pairs = zip(self._samples[name], self._samples[against], strict=True)
        return statistics.median(other / own for own, other in pairs)

    def cost(self, name: str, against: str) -> float:
        """What `name` costs as a multiple of `against`."""
        pairs = zip(self._samples[name], self._samples[against], strict=True)
        return statistics.median(own / other for own, other in pairs)

    def extra(self, name: str, against: str) -> float:
        """Seconds that `name` takes beyond `against`."""
        pairs = zip(self._samples[name], self._samples[against], strict=True)
        return statistics.median(own - other for own, other in pairs)


def interleave(
    work: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    batch: int,
    settle: Callable[[], object] = lambda: None,
) -> Samples:
    """Time `batch` calls of each piece of work in turn, `rounds` times, in an order that changes every round.

    A changing order, because work leaves its neighbour something to clean up: dirty pages, blocks to discard. What it
    leaves running, `settle` waits for, and that is not timed.
    """
    for call in work.values():
        call()  # imports, first-use set-up and caches belong to nobody's figure
    settle()
    samples: dict[str, list[float]] = {name: [] for name in work}
    order = list(work.items())
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name, call in order:
            start = time.perf_counter()
            for _ in range(batch):
                call()
            samples[name].append((time.perf_counter() - start) / batch)
            settle()
    return Samples(samples)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
