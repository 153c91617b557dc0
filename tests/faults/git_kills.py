"""A clone that is killed with SIGKILL while it commits, pulls, integrates and pushes.

Some kills come at random moments, to the process alone, to git alone, or to both; the others before, in the middle of
and after each call of git that a round of work consists of, and before each change of the disk between them. The next
session has to go on at once, with everything that was acknowledged, sound repositories and no lock left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.git_tools import MOMENTS, TRANSPORTS, fill, killing, racing, serving
from tests.faults.harness import Outcome, scratch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.harness import Intensity

    Fire = Callable[[killing.Scene], object]


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("kills of a clone at work")
    chance = intensity.random("git-kills")
    kills = intensity.pick(short=2, full=25)
    for transport in TRANSPORTS if intensity.full else ("file",):
        _under_fire(outcome, transport, "rebase", lambda scene: killing.kill_at_random(scene, kills, chance))
    _under_fire(outcome, "file", "rebase", lambda scene: killing.kill_at_random(scene, kills, chance), commit="write")
    every = intensity.pick(short=12, full=2)
    for policy in racing.SETTLING if intensity.full else ("merge",):
        _under_fire(outcome, "file", policy, lambda scene: killing.kill_at_every_step(scene, MOMENTS, every=every))
        _under_fire(outcome, "file", policy, lambda scene: killing.kill_at_every_change(scene, every=every))
    careless = Outcome("control")
    _under_fire(careless, "file", "rebase", _recover_carelessly)
    outcome.control("recovering with git reset --hard", careless)
    return outcome


def _under_fire(outcome: Outcome, transport: str, policy: str, fire: Fire, commit: str = "event") -> None:
    with scratch() as folder, serving(transport, folder) as origin:
        fill(origin, {killing.NOTES[0]: b"theirs-begin\n"})
        scene = killing.Scene(origin, folder, policy, commit)
        scene.open()
        fire(scene)
    outcome.count += scene.kills
    for problem in scene.problems:
        outcome.violation("broken", f"{policy} over {transport}: {problem}")


def _recover_carelessly(scene: killing.Scene) -> None:
    killing.work_and_lose_power_before_the_commit(scene)
    killing.judge(scene, "control", lambda: killing.reopen_carelessly(scene))
