"""Whole lives of two devices: random commands of operators, agents and other programs, held to a strict ledger.

Whatever a command called done can afterwards be read where the product says that it is, from its own project and from
no other; what it called replaced is in the history; an error has changed nothing. A life that breaks a promise is
repeated with fewer and fewer steps, until every step that is left is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

from agentm_checkpoint.history import History
from agentm_import.moving import command_project
from agentm_kernel.plugin import Locator
from agentm_kernel.projects import lookup
from tests.faults.harness import Outcome, scratch
from tests.faults.life_ledger import Ledger
from tests.faults.life_set_ups import SET_UPS, set_up
from tests.faults.life_step import Step
from tests.faults.life_steps import draw, live
from tests.faults.life_world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentm_import.moving.projects import Moved
    from agentm_kernel.plugin import StorageBackend
    from tests.faults.harness import Intensity

_BETWEEN_LOOKS = 6
_DRAWN = 6
"""How many of the set-ups a short run lives in."""


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("commands in whole lives of two devices")
    done = lives = 0
    drawn = intensity.random("set-ups").sample(SET_UPS, intensity.pick(short=_DRAWN, full=len(SET_UPS)))
    for number in range(intensity.pick(short=1, full=20) * len(drawn)):
        name = drawn[number % len(drawn)]
        rng = intensity.random(f"lives {number}")
        steps = [draw(rng, each, name) for each in range(intensity.pick(short=18, full=48))]
        ledger = lived(name, steps)
        outcome.count += ledger.done + ledger.refused
        lives, done = lives + 1, done + ledger.done
        if ledger.problems:
            kind, _, what = ledger.problems[0].partition(": ")
            outcome.violation(kind, f"{what}; life {number}, {name}:\n{told(shrunk(name, steps, kind))}")
    outcome.measured |= {"lives": lives, "commands that were done": done}
    for control, (steps, patched) in _CONTROLS.items():
        broken = Outcome(control)
        with mock.patch.object(*patched):
            for problem in lived("local", steps).problems:
                broken.violation(*problem.split(": ", 1))
        outcome.control(control, broken)
    return outcome


def lived(name: str, steps: Sequence[Step]) -> Ledger:
    """What the ledger says after these steps, or at the first look that found something wrong."""
    with scratch(in_memory=True) as folder:
        ledger = Ledger(World(folder, name))
        set_up(ledger.world)
        for count, step in enumerate(steps, 1):
            live(ledger, step)
            if count % _BETWEEN_LOOKS == 0 or count == len(steps):
                ledger.look()
            if ledger.problems:
                return ledger
        ledger.look_back()
        if ledger.world.keeper:  # what was sealed is shown by an encrypted store, and what was plain by a plain one
            other = "decrypt" if ledger.world.is_sealed else "encrypt"
            live(ledger, Step(len(steps), other, ledger.world.keeper, "plain"))
            ledger.look_back()
    return ledger


def shrunk(name: str, steps: list[Step], kind: str) -> list[Step]:
    """As few of the steps as still show a problem of this kind."""
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            if any(problem.startswith(f"{kind}:") for problem in lived(name, fewer).problems):
                steps = fewer
            else:
                start += size
        size //= 2
    return steps


def told(steps: Sequence[Step]) -> str:
    return "\n".join(f"        {step}" for step in steps)


# ------------------------------------------------------------------------------------------------ controls


_FACT = ("--kind", "fact", "--slug")
_TWO_NOTES = [
    Step(number, "save", "ana", "widgets", (*_FACT, slug)) for number, slug in enumerate(("alpha", "bravo"))
]
_RENAMED = Step(2, "rename", "ana", "widgets", ("widgets", "gadgets"))
_REPLACED = Step(2, "save", "ana", "widgets", (*_FACT, "alpha", "--update"))


def _forgetful(store: StorageBackend, old: str, new: str) -> Moved:
    moved = _rename_project(store, old, new)
    store.delete(Locator(f"projects/{new}/facts/alpha.md"))
    return moved


_rename_project: Callable[..., Moved] = command_project.rename_project
_CONTROLS: dict[str, tuple[list[Step], tuple[object, str, object]]] = {
    "a rename that forgets a note": ([*_TWO_NOTES, _RENAMED], (command_project, "rename_project", _forgetful)),
    "a reader that ignores whose a record is": (
        _TWO_NOTES,
        (lookup, "if_owned", lambda store, record, remote: record),
    ),
    "a history that keeps nothing": ([*_TWO_NOTES, _REPLACED], (History, "record", lambda *_: None)),
}
