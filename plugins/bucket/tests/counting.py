"""Many processes on two devices that count in one note: every increment that was acknowledged is in it, once."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from bucket_servers import Server
from stopwatch import Stopwatch

from agentm_bucket.history import History
from agentm_bucket.place import Timing
from agentm_kernel import Locator, update
from agentm_kernel.errors import StorageIOError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import StorageBackend

COUNTER = Locator("projects/shared/counter.md")

NO_CONDITION, NO_HISTORY = "writers that make no condition", "writers that do not know their own writes"
"""Ways to count that are wrong, for controls: the first loses increments, the second makes some twice."""

_SCRIPT = """
import pickle, sys
sys.path[:] = {path!r}
import counting
task, given = pickle.loads(sys.stdin.buffer.read())
getattr(counting, task)(*given)
"""


class Tally(NamedTuple):
    """What all counters together came to."""

    failures: tuple[str, ...]
    """The last words of those that met something unexpected, or made a call that took too long."""
    made: int
    """Increments that were acknowledged."""
    refused: int
    """Increments of which nobody can say whether they were made."""
    calls: int
    slowest: float
    """What the slowest call took, as a share of its deadline."""


def count(server: Server, prefix: str, device: str, options: dict[str, float], times: int, broken: str) -> None:
    """Increment `times` times, and fail on anything unexpected."""
    store = _opened(server, prefix, device, options)
    if broken == NO_HISTORY:
        History.__contains__ = lambda self, write: False  # type: ignore[method-assign]
    for _ in range(times):
        if broken == NO_CONDITION:
            store.write(COUNTER, _one_more(store.read(COUNTER)))
        else:
            update(store, COUNTER, _one_more, timeout=120)
    _tell(store, times, 0)


def count_for(server: Server, prefix: str, device: str, options: dict[str, float], seconds: float) -> None:
    """Increment while the network comes and goes: a typed error is what is expected then."""
    store = _opened(server, prefix, device, options)
    end = time.monotonic() + seconds
    made, refused = 0, 0
    while time.monotonic() < end:
        try:
            update(store, COUNTER, _one_more)
            made += 1
        except StorageIOError:
            refused += 1
    _tell(store, made, refused)


def _opened(server: Server, prefix: str, device: str, options: dict[str, float]) -> Stopwatch:
    timing = Timing(**{name: value for name, value in options.items() if name in Timing.__slots__})
    return Stopwatch(server.open(prefix, device=device, **options), timing.deadline)


def _tell(store: Stopwatch, made: int, refused: int) -> None:
    print(json.dumps([made, refused, store.calls, store.slowest]))
    if store.late:
        sys.exit(f"{len(store.late)} calls were late: {store.late[0]}")


def _one_more(text: str | None) -> str:
    return f"{int(text or 0) + 1}\n"


Counter = subprocess.Popen[bytes]


def start_counters(
    server: Server, prefix: str, *, processes: int, times: int, broken: str = "", **options: float
) -> list[Counter]:
    """Half of the processes on each of two devices; `options` are those of the store."""
    return [
        start("count", server, (prefix, f"laptop-{number % 2}", options, times, broken))
        for number in range(processes)
    ]


def start(task: str, server: Server, given: tuple[object, ...], wrapper: Sequence[str] = ()) -> Counter:
    """A function of this module in a process of its own, with `wrapper` before its command."""
    script = _SCRIPT.format(path=[os.path.dirname(__file__), *sys.path])
    process = subprocess.Popen(
        [*wrapper, sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": server.folder},
    )
    assert process.stdin is not None
    process.stdin.write(pickle.dumps((task, (server, *given))))
    process.stdin.close()
    process.stdin = None
    return process


def finish(counters: Sequence[Counter], *, limit: float) -> Tally:
    """Wait for all of them."""
    end = time.monotonic() + limit
    failures, told = [], []
    try:
        for process in counters:
            said, errors = process.communicate(timeout=max(1.0, end - time.monotonic()))
            if process.returncode:
                failures.append(errors.decode(errors="replace").strip()[-400:])
            if said:
                told.append(json.loads(said))
    finally:
        for process in counters:
            if process.poll() is None:
                process.kill()
                process.communicate()
    made, refused, calls, slowest = zip(*told, strict=True) if told else ((0,),) * 4
    return Tally(tuple(failures), sum(made), sum(refused), sum(calls), max(slowest))


def counted(server: Server, prefix: str) -> int:
    return int(server.open(prefix).read(COUNTER))


def begin(store: StorageBackend) -> None:
    """From nothing."""
    store.write(COUNTER, "0\n")
