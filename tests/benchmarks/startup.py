"""What a command costs from start to end, against a bare interpreter: hooks run thousands of times a day."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

BARE = "python -c pass"
HOOKS = ("state-path plan", "hook session-start", "recall-here", "state read PLAN.md", "config get storage.backend")
OTHERS = ("doctor", "state list", "plugins list", "--help")

SCAN = """
import time
import sys
from agentm_kernel.device.installed import scan
def timed(work):
    start = time.perf_counter(); work(); return time.perf_counter() - start
print(min(timed(lambda: scan(sys.path)) for _ in range(20)))
from importlib.metadata import entry_points
print(min(timed(lambda: entry_points(group="agentm.backends")) for _ in range(20)))
"""


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch)
    homes = {
        "fresh home": installed.home("fresh"),
        "device-local, with a plan": installed.home(
            "local", "config set storage.backend device-local", "project register", "state write PLAN.md"
        ),
        "vault, with a plan": installed.home("vault", "vault init ~/vault --create --use", "state write PLAN.md"),
    }
    rows: list[Row] = []
    for count in (10, 100, 300):
        installed.fill(count)
        rows += _commands(setting, installed, count, {"fresh home": homes["fresh home"]}, (*HOOKS, *OTHERS))
    installed.fill(100)
    for name in ("device-local, with a plan", "vault, with a plan"):
        rows += _commands(setting, installed, 100, {name: homes[name]}, HOOKS)
    rows += [_discovery(installed, count) for count in (10, 100, 300)]
    note = (
        "Whole processes, started in turn; wheels with compiled bytecode; the launcher that uv writes. "
        "The last rows are discovery alone, in one process, against `importlib.metadata.entry_points()`."
    )
    return Table("startup", "Starting a command", note, rows)


def _commands(
    setting: Setting, installed: Installed, count: int, home: dict[str, dict[str, str]], commands: tuple[str, ...]
) -> list[Row]:
    ((name, environ),) = home.items()
    work = {command: installed.starting(command, environ) for command in (BARE, *commands)}
    samples = interleave(work, rounds=setting.rounds(40, 5), batch=1)
    return [
        {
            "command": f"agentm {command}",
            "distributions": str(count),
            "where": name,
            "time (ms)": samples.seconds(command) * 1e3,
            "against python -c pass (×)": samples.cost(command, BARE),
        }
        for command in commands
    ]


def _discovery(installed: Installed, count: int) -> Row:
    installed.fill(count)
    done = subprocess.run([installed.python, "-c", SCAN], check=True, capture_output=True, text=True)
    ours, theirs = map(float, done.stdout.split())
    return {
        "command": "find all plugins",
        "distributions": str(count),
        "where": f"{theirs / ours:.1f} times as fast as importlib.metadata",
        "time (ms)": ours * 1e3,
    }
