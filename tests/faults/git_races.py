"""Clones of one git repository that push at the same time, under every conflict policy, over every transport.

Every edit that was acknowledged has to be at the origin in the end, nobody may have forced a push, and every
repository has to be sound. The clones, the judge and the control live with the tests of agentm-git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.git_tools import TRANSPORTS, ForgetfulClone, RacingClone, found_store, racing, serving
from tests.faults.harness import Outcome, scratch

if TYPE_CHECKING:
    from tests.faults.harness import Intensity


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("edits by racing clones")
    clones, edits = intensity.pick(short=2, full=4), intensity.pick(short=3, full=50)
    chance = intensity.random("git-races")
    for policy in racing.POLICIES if intensity.full else chance.sample(racing.POLICIES, 2):
        for transport in TRANSPORTS if intensity.full else (chance.choice(TRANSPORTS),):
            _race(outcome, policy, transport, clones, edits, chance.randrange(10**6))
    forgetful = Outcome("control")
    _race(forgetful, "none", "file", 3, 8, 0)
    outcome.control("taking the origin's version", forgetful)
    return outcome


def _race(outcome: Outcome, policy: str, transport: str, clones: int, edits: int, seed: int) -> None:
    with scratch() as folder, serving(transport, folder) as origin:
        found_store(origin, folder)
        contender = ForgetfulClone if policy == "none" else RacingClone
        result = racing.run(racing.Race(origin, folder, policy, clones, edits, contender, seed))
    outcome.count += len(result.acknowledged)
    for problem in result.problems:
        kind = problem.partition(":")[0].replace(" ", "-")
        outcome.violation(kind, f"{policy} over {transport}, seed {seed}: {problem}")
    for name, number in (("settled by an operator", result.settled), ("kept as copies", result.kept)):
        outcome.measured[name] = outcome.measured.get(name, 0) + number
