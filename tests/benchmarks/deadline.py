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
from tests.benchmarks.installed import PLUGINS, Installed
from tests.benchmarks.measure import percentile
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

HOSTS = ("claude-code", "codex", "gemini", "cursor", "plain")

COMMANDS = ("doctor", "state-path plan", "store show", "project list", "event turn-end", "hook session-start")
PROMISED = 2.0
"""Seconds in which each of these names a store that hangs."""
HANGING = """
import time
from agentm_kernel.plugin import Capabilities, FileStore, hookimpl
class Store(FileStore):
    capabilities = Capabilities(sync=True, device_files=True)
    def __init__(self, root): super().__init__(root, create_root=True)
    def check_usable(self, *, read_only): time.sleep(60)
@hookimpl
def agentm_event(name, context): context.device.store()
"""


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch, (*PLUGINS, "agentm-hosts"))
    installed.fill(100)
    environ = installed.home("busy", "state write PLAN.md", "state write progress.md")
    event = json.dumps({"cwd": str(installed.project), "hook_event_name": "SessionStart"}).encode()
    with _busy_cores():
        rows = [_row(installed, host, event, environ, setting.rounds(40, 3)) for host in HOSTS]
    environ = _with_hanging_store(installed)
    rows += [_named(installed, command, environ, setting.rounds(5, 1)) for command in COMMANDS]
    note = (
        f"Two busy loops per core beside it. In time is an answer with the plan within {DEADLINE_SECONDS:g} s of the "
        "start of the process, interpreter included. The last rows are commands whose store hangs, on a machine that "
        f"does nothing else: in time is an answer that names the store within {PROMISED:g} s."
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


def _with_hanging_store(installed: Installed) -> dict[str, str]:
    metadata = installed.site / "rogue-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rogue\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[agentm.backends]\nrogue = rogue:Store\n[agentm.plugins.event]\nrogue = rogue\n"
    )
    (installed.site / "rogue.py").write_text(HANGING)
    root = f"plugins.rogue.root {installed.project}/store"
    return installed.home("hanging", f"config set {root}", "config set storage.backend rogue")


def _named(installed: Installed, command: str, environ: dict[str, str], runs: int) -> Row:
    times, in_time = [], 0
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(
            [installed.agentm, *command.split()],
            env=environ,
            cwd=installed.project,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
        )
        times.append(time.perf_counter() - start)
        in_time += b"'rogue'" in done.stdout + done.stderr and times[-1] <= PROMISED
    return {
        "host": f"`agentm {command}`",
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
