"""Every session start inside its deadline, with all cores busy: an agent's host must never wait for its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_kernel.cli.hook import DEADLINE_SECONDS
from tests.benchmarks.installed import Installed
from tests.benchmarks.measure import percentile
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

HOSTS = ("claude-code", "codex", "gemini", "cursor", "plain")


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch)
    installed.fill(100)
    environ = installed.home("busy", "state write PLAN.md", "state write progress.md")
    event = json.dumps({"cwd": str(installed.project), "hook_event_name": "SessionStart"}).encode()
    with _busy_cores():
        rows = [_row(installed, host, event, environ, setting.rounds(40, 3)) for host in HOSTS]
    note = (
        f"Two busy loops per core beside it. In time is an answer with the plan within {DEADLINE_SECONDS:g} s of the "
        "start of the process, interpreter included."
    )
    return Table("deadline", "Session start on a busy machine", note, rows)


def _row(installed: Installed, host: str, event: bytes, environ: dict[str, str], runs: int) -> Row:
    times, in_time = [], 0
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(
            [installed.agentm, "hook", "session-start", "--host", host],
            input=event,
            env=environ,
            cwd=installed.project,
            check=True,
            capture_output=True,
        )
        times.append(time.perf_counter() - start)
        in_time += b"PLAN.md" in done.stdout and times[-1] <= DEADLINE_SECONDS
    return {
        "host": host,
        "in time": f"{in_time} of {runs}",
        "median (ms)": percentile(times, 0.5) * 1e3,
        "p99 (ms)": percentile(times, 0.99) * 1e3,
        "slowest (ms)": max(times) * 1e3,
    }


@contextmanager
def _busy_cores() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
