"""One note of a bucket and 1 to 64 devices that edit it: counted on a real server, and in the simulation.

The server is on this machine, so each request is held back as long as one to a far object store takes; the same range
goes into the simulation (`scale_model`). What races there is decided by the server.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentm_kernel import Locator, update
from agentm_kernel.plugin import ConcurrentModificationError
from tests.benchmarks.scale_model import LATENCY, Outcome, simulate
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "bucket" / "tests"))

CROWDS = ((100.0, (1, 2, 4, 8)), (80.0, (16,)), (60.0, (32,)), (40.0, (64,)))
"""Crowds that work at the same time, each on a note of its own, and for how many seconds: in a shorter time, the
figures of a small crowd are off by a fifth by chance alone.
"""
PAUSE = 4.0
"""Seconds between the edits of one device, on average."""
_SEEDS = 60
_NOTE = Locator("shared.md")


class FarAway:
    """While entered, each request of the bucket's client takes as long as one to a far store, and is counted."""

    def __init__(self, seed: int) -> None:
        self._draw, self._lock = random.Random(seed), threading.Lock()
        self.requests: dict[str, dict[str, int]] = defaultdict(lambda: {"GET": 0, "PUT": 0})
        """By the note, and by what was asked."""
        self.seen: dict[str, list[float]] = defaultdict(list)
        """What each request took in the end: on a busy machine, more than it was held back."""

    def __enter__(self) -> FarAway:
        from agentm_bucket.client import Client

        self._client: Any = Client
        self._kept = {"get": Client.get, "put": Client.put}
        Client.get, Client.put = self._held_back("get"), self._held_back("put")  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self._kept.items():
            setattr(self._client, name, method)

    def _held_back(self, name: str) -> Any:
        method = self._kept[name]

        def request(client: Any, path: str, *given: Any, **named: Any) -> Any:
            with self._lock:
                self.requests[path][name.upper()] += 1
                took = self._draw.uniform(*LATENCY)
            began = time.monotonic()
            time.sleep(took / 2)
            try:
                return method(client, path, *given, **named)
            finally:
                time.sleep(max(0.0, began + took - time.monotonic()))
                self.seen[path].append(time.monotonic() - began)

        return request


class Crowd:
    """Devices that edit one note, each with a store and a thread of its own; all have written before."""

    def __init__(self, server: Any, devices: int) -> None:
        self.devices, self.out = devices, Outcome()
        self.prefix = f"scale-{devices}"
        self._lock = threading.Lock()
        self._stores = [server.open(self.prefix, device=f"{self.prefix}-{number}") for number in range(devices)]
        for number, store in enumerate(self._stores):  # once in its life, a device has the server prove itself
            store.write(Locator(f"of-{number}.md"), "begin\n")
        self._stores[0].write(_NOTE, "begin\n")

    def threads(self, end: float) -> list[threading.Thread]:
        return [threading.Thread(target=self._work, args=(number, end)) for number in range(self.devices)]

    def _work(self, number: int, end: float) -> None:
        draw = random.Random(number)
        time.sleep(draw.expovariate(1 / PAUSE))
        while time.monotonic() < end:
            self._edit(number)
            time.sleep(draw.expovariate(1 / PAUSE))

    def _edit(self, number: int) -> None:
        began, tries = time.monotonic(), 0

        def add(text: str | None) -> str:
            nonlocal tries
            tries += 1
            return f"{(text or '')[-200:]}{number} {tries}\n"

        try:
            update(self._stores[number], _NOTE, add)
        except ConcurrentModificationError:
            got_through = False
        else:
            got_through = True
        with self._lock:
            self.out.updates += got_through
            self.out.given_up += not got_through
            self.out.attempts += tries
            self.out.refused += tries - got_through
            self.out.seconds.append(time.monotonic() - began)


def measured(server: Any, sizes: tuple[int, ...], seconds: float) -> list[tuple[Crowd, list[float]]]:
    """Crowds that work at the same time, and what each request of theirs took."""
    crowds = [Crowd(server, size) for size in sizes]
    with FarAway(sizes[0]) as far:
        end = time.monotonic() + seconds
        threads = [thread for crowd in crowds for thread in crowd.threads(end)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    latencies = []
    for crowd in crowds:
        path = f"{crowd.prefix}/{_NOTE.key}"
        crowd.out.requests = far.requests[path]
        latencies.append((crowd, far.seen[path]))
    return latencies


def run(setting: Setting) -> Table:
    from bucket_servers import ServerMissingError, running

    rows: list[Row] = []
    note = (
        f"Each device edits the same note, {PAUSE:g} s after its last edit on average; a request takes "
        f"{LATENCY[0] * 1e3:g} to {LATENCY[1] * 1e3:g} ms. Simulated: the mean of {_SEEDS} seeds, for as many "
        "seconds, with the latencies that the requests of the same row had."
    )
    try:
        with running("seaweedfs", str(setting.scratch / "seaweedfs")) as started:
            for long, sizes in CROWDS:
                seconds = long / 4 if setting.quick else long
                rows += [_row(*found, seconds) for found in measured(started.server, sizes, seconds)]
    except ServerMissingError as error:
        note = f"Not measured: {error}."
    return Table("scale", "Devices that edit one note of a bucket", note, rows)


def _row(crowd: Crowd, latencies: list[float], seconds: float) -> Row:
    runs = [simulate(crowd.devices, seconds, PAUSE, seen=latencies, seed=seed) for seed in range(_SEEDS)]
    seen = crowd.out
    wanted = sum(each.per_update for each in runs if each.updates) / sum(each.updates > 0 for each in runs)
    waits = [wait for each in runs for wait in each.seconds]
    took, simulated = sum(seen.seconds) / len(seen.seconds), sum(waits) / len(waits)
    return {
        "devices": str(crowd.devices),
        "seconds": f"{seconds:g}",
        "updates": str(seen.updates),
        "requests per update": seen.per_update,
        "simulated": wanted,
        "ratio (×)": seen.per_update / wanted,
        "seconds per update": took,
        "simulated (s)": simulated,
        "ratio of seconds (×)": took / simulated,
        "refused": f"{seen.conflict_rate:.0%}",
    }
