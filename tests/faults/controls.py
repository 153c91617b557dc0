"""Running a negative control that is a race: a broken build loses it, but not at every try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.harness import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 20


def until_caught(experiment: Callable[[Outcome], None]) -> Outcome:
    """Repeat the experiment on a broken build until it shows; on a busy machine that can take a few tries."""
    broken = Outcome("control")
    for _ in range(TRIES):
        experiment(broken)
        if broken.violations:
            break
    return broken
