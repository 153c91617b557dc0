"""Whole lives of two devices: random commands of operators, agents and other programs, held to a strict ledger.

Whatever a command called done can afterwards be read where the product says that it is, from its own project and from
no other; what it called replaced is in the history; an error has changed nothing. A life that breaks a promise is
repeated with fewer and fewer steps, until every step that is left is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.harness import Outcome, scratch
from tests.faults.life_ledger import Ledger
from tests.faults.life_steps import draw, live
from tests.faults.life_world import SET_UPS, World

if TYPE_CHECKING:
    from tests.faults.harness import Intensity
    from tests.faults.life_steps import Step

_LENGTH = 24
_BETWEEN_LOOKS = 6


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("commands in whole lives of two devices")
    for number in range(intensity.pick(short=len(SET_UPS), full=40 * len(SET_UPS))):
        set_up = SET_UPS[number % len(SET_UPS)]
        rng = intensity.random(f"lives {number}")
        steps = [draw(rng, each, set_up) for each in range(intensity.pick(short=_LENGTH, full=2 * _LENGTH))]
        ledger = lived(set_up, steps)
        outcome.count += ledger.done + ledger.refused
        outcome.measured["done"] = outcome.measured.get("done", 0) + ledger.done
        if ledger.problems:
            kind, _, what = ledger.problems[0].partition(": ")
            needed = shrunk(set_up, steps, kind)
            outcome.violation(kind, f"{what}\n      life {number}, {set_up}:\n" + _told(needed))
    return outcome


def lived(set_up: str, steps: list[Step]) -> Ledger:
    """What the ledger says after these steps, or at the first look that found something wrong."""
    with scratch(in_memory=True) as folder:
        ledger = Ledger(World(folder, set_up))
        for count, step in enumerate(steps, 1):
            live(ledger, step)
            if count % _BETWEEN_LOOKS == 0 or count == len(steps):
                ledger.look()
            if ledger.problems:
                return ledger
        ledger.look_back()
    return ledger


def shrunk(set_up: str, steps: list[Step], kind: str) -> list[Step]:
    """As few of the steps as still show a problem of this kind."""
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            if any(problem.startswith(f"{kind}:") for problem in lived(set_up, fewer).problems):
                steps = fewer
            else:
                start += size
        size //= 2
    return steps


def _told(steps: list[Step]) -> str:
    return "\n".join(f"        {step}" for step in steps)
