"""Devices that edit one note of a bucket, as events on a clock that nobody waits for.

The steps are those of `update` on a bucket: GET; PUT on condition; refused, a GET that tells whether it was one's own
write after all, a pause of any length up to 1 ms, which doubles to 50 ms; and again from the first GET, for 30 s.
A request takes effect in the middle of its time. Latencies are drawn from a range, or from those that were seen; the
seed fixes everything.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LATENCY = (0.1, 0.2)
"""Seconds: what the maker of the best known object store calls usual for small objects, "roughly 100–200"."""
_FIRST_PAUSE, _LONGEST_PAUSE, _TIMEOUT = 0.001, 0.05, 30.0


@dataclass
class Outcome:
    updates: int = 0
    attempts: int = 0
    refused: int = 0
    given_up: int = 0
    requests: dict[str, int] = field(default_factory=lambda: {"GET": 0, "PUT": 0})
    seconds: list[float] = field(default_factory=list)
    """How long each update took, from the call to the answer."""

    @property
    def per_update(self) -> float:
        """Requests for each update that got through."""
        return sum(self.requests.values()) / max(1, self.updates)

    @property
    def conflict_rate(self) -> float:
        return self.refused / max(1, self.attempts)


def simulate(
    devices: int,
    seconds: float,
    pause: float,
    *,
    notes: int = 1,
    latency: tuple[float, float] = LATENCY,
    seen: Sequence[float] = (),
    seed: int = 1,
) -> Outcome:
    """`devices` edit one of `notes` notes each, `pause` seconds on average after their last edit, for so long.

    `seen`: what requests took somewhere, to draw from instead of `latency`.
    """
    draw = random.Random(seed)
    out = Outcome()
    versions = [0] * notes
    queue: list[tuple[float, int, str, tuple[float, ...]]] = []
    for device in range(devices):
        heapq.heappush(queue, (draw.expovariate(1 / pause), device, "begin", ()))
    while queue:
        now, device, step, state = heapq.heappop(queue)
        note = device % notes

        def then(delay: float, what: str, *values: float, now: float = now, device: int = device) -> None:
            heapq.heappush(queue, (now + delay, device, what, values))

        if step == "begin":
            if now < seconds:
                then(0.0, "get", now, _FIRST_PAUSE)
            continue
        took = draw.choice(seen) if seen else draw.uniform(*latency)
        began, wait = state[0], state[1]
        if step == "get":
            out.requests["GET"] += 1
            then(took / 2, "read", began, wait, took)
        elif step == "read":
            then(state[2] / 2, "put", began, wait, versions[note])
        elif step == "put":
            out.requests["PUT"] += 1
            out.attempts += 1
            then(took / 2, "write", began, wait, state[2], took)
        elif step == "write":
            won = versions[note] == state[2]
            versions[note] += won
            then(state[3] / 2, "done" if won else "look", began, wait)
        elif step == "look":
            out.requests["GET"] += 1
            out.refused += 1
            then(took, "pause", began, wait)
        elif step == "pause" and now + wait - began <= _TIMEOUT:
            then(wait * draw.random(), "get", began, min(wait * 2, _LONGEST_PAUSE))
        else:
            out.updates += step == "done"
            out.given_up += step != "done"
            out.seconds.append(now - began)
            then(draw.expovariate(1 / pause), "begin")
    return out
