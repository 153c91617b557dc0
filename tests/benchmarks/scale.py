"""One note of a bucket and 1 to 64 devices that edit it: counted on a real server, and in the simulation.

The server is on this machine, so each request is held back as long as one to a far object store takes; the same range
goes into the simulation (`scale_model`). What races there is decided by the server.
"""

from __future__ import annotations

import random
import sys
import threading
import time
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

CROWDS = (1, 2, 4, 8, 16, 32, 64)
PAUSE = 4.0
"""Seconds between the edits of one device, on average."""
_NOTE = Locator("shared.md")


class FarAway:
    """While entered, each request of the bucket's client takes as long as one to a far store, and is counted."""

    def __init__(self, seed: int) -> None:
        self._draw, self._lock = random.Random(seed), threading.Lock()
        self.requests = {"GET": 0, "PUT": 0}
        self.seen: list[float] = []
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

        def request(*given: Any, **named: Any) -> Any:
            with self._lock:
                self.requests[name.upper()] += 1
                took = self._draw.uniform(*LATENCY)
            began = time.monotonic()
            time.sleep(took / 2)
            try:
                return method(*given, **named)
            finally:
                time.sleep(max(0.0, began + took - time.monotonic()))
                self.seen.append(time.monotonic() - began)

        return request


def measured(server: Any, devices: int, seconds: float) -> tuple[Outcome, list[float]]:
    """Each device has a store and a thread of its own, and has written before. Also what each request took."""
    out, lock = Outcome(), threading.Lock()
    stores = [server.open(f"scale-{devices}", device=f"device-{number}") for number in range(devices)]
    for number, store in enumerate(
        stores
    ):  # once in its life, a device has the server prove that it keeps conditions
        store.write(Locator(f"of-{number}.md"), "begin\n")
    stores[0].write(_NOTE, "begin\n")
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        draw, lines = random.Random(number), 0
        time.sleep(draw.expovariate(1 / PAUSE))
        while time.monotonic() < end:
            began, tries = time.monotonic(), 0

            def add(text: str | None, number: int = number) -> str:
                nonlocal tries
                tries += 1
                return f"{(text or '')[-200:]}{number} {tries}\n"

            try:
                update(stores[number], _NOTE, add)
            except ConcurrentModificationError:
                with lock:
                    out.given_up += 1
            else:
                with lock:
                    out.updates += 1
            with lock:
                out.attempts += tries
                out.refused += tries - 1
                out.seconds.append(time.monotonic() - began)
            lines += 1
            time.sleep(draw.expovariate(1 / PAUSE))

    with FarAway(devices) as far:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(devices)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        out.requests = far.requests
    return out, far.seen


def run(setting: Setting) -> Table:
    from bucket_servers import ServerMissingError, running

    rows: list[Row] = []
    seconds = float(setting.rounds(40, 20))
    note = (
        f"Each device edits the same note, {PAUSE:g} s after its last edit on average; a request takes "
        f"{LATENCY[0] * 1e3:g} to {LATENCY[1] * 1e3:g} ms. Simulated: the mean of 10 seeds, 600 s each, with "
        "the latencies that the requests of the same row had."
    )
    try:
        with running("seaweedfs", str(setting.scratch / "seaweedfs")) as started:
            for devices in CROWDS:
                rows.append(_row(devices, *measured(started.server, devices, seconds)))
    except ServerMissingError as error:
        note = f"Not measured: {error}."
    return Table("scale", "Devices that edit one note of a bucket", note, rows)


def _row(devices: int, seen: Outcome, latencies: list[float]) -> Row:
    runs = [simulate(devices, 600, PAUSE, seen=latencies, seed=seed) for seed in range(10)]
    wanted = sum(each.per_update for each in runs) / len(runs)
    waits = [wait for each in runs for wait in each.seconds]
    took, simulated = sum(seen.seconds) / len(seen.seconds), sum(waits) / len(waits)
    return {
        "devices": str(devices),
        "updates": str(seen.updates),
        "requests per update": seen.per_update,
        "simulated": wanted,
        "ratio (×)": seen.per_update / wanted,
        "seconds per update": took,
        "simulated (s)": simulated,
        "ratio of seconds (×)": took / simulated,
        "refused": f"{seen.conflict_rate:.0%}",
    }
