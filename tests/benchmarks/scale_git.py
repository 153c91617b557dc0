"""1 to 64 clones of one repository that sync: counted on a real server (`git http-backend` on loopback).

Each device writes a note of its own and syncs once within the window. Whoever finds that another pushed in between
fetches and pushes again, so requests for a sync grow with how many come in while one is under way.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentm_kernel import Locator
from tests.benchmarks.measure import percentile
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "git" / "tests"))

CROWDS = (1, 2, 4, 8, 16, 32, 64)
_WINDOWS = (20.0, 60.0)
"""Seconds in which each device of a small crowd, and of a large one, syncs once."""


class Counting:
    """The requests that a server got, by what was asked: a fetch is answered by two, and so is a push."""

    def __init__(self, server: Any) -> None:
        self._server, self._seen = server, len(server.given)

    def since(self) -> int:
        return len(self._server.given) - self._seen


def measured(clones: list[Any], server: Any, window: float, seed: int) -> tuple[int, list[float]]:
    """The requests that the syncs of all clones took together, and the seconds of each."""
    from clones import AUTHORS, OCCASION

    draw, seconds, failures = random.Random(seed), list[float](), list[Exception]()
    moments = [draw.uniform(0, window) if len(clones) > 1 else 0.0 for _ in clones]
    counting = Counting(server)

    def work(number: int) -> None:
        time.sleep(moments[number])
        store = clones[number]
        store.write(Locator(f"of-{number}.md"), f"{seed} {number}\n")
        began = time.monotonic()
        try:
            store.commit(f"note {number}", AUTHORS, OCCASION)
            store.push(OCCASION)
        except Exception as error:  # a thread's error would be printed and forgotten
            failures.append(error)
        seconds.append(time.monotonic() - began)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(clones))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return counting.since(), seconds


def run(setting: Setting) -> Table:
    from clones import found_store, open_clone
    from git_servers import Origin, make_bare
    from smart_http import SmartServer

    folder = setting.scratch / "scale-git"
    folder.mkdir(parents=True)
    make_bare(str(folder / "notes.git"))
    server = SmartServer(str(folder), None)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    crowds = [crowd for crowd in CROWDS if crowd <= setting.rounds(64, 16)]
    rows: list[Row] = []
    try:
        origin = Origin("http", str(folder / "notes.git"), f"http://127.0.0.1:{server.server_port}/notes.git")
        found_store(origin, str(folder))
        clones = [open_clone(origin, str(folder / f"clone-{number}")) for number in range(crowds[-1])]
        for seed, crowd in enumerate(crowds):
            window = _WINDOWS[crowd > 16]
            requests, seconds = measured(clones[:crowd], server, window, seed)
            rows.append(_row(crowd, window, requests, seconds))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    note = (
        "Each device writes a note of its own, commits and syncs once, at any moment of the window; the server is on "
        "the same machine, which does the work of all devices."
    )
    return Table("scale_git", "Devices that sync one git repository", note, rows)


def _row(crowd: int, window: float, requests: int, seconds: list[float]) -> Row:
    return {
        "devices": str(crowd),
        "window (s)": f"{window:g}",
        "requests per sync": requests / crowd,
        "p50 (s)": percentile(seconds, 0.5),
        "longest (s)": max(seconds),
    }
