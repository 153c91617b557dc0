"""Asking where state belongs, again and again, in one process: an installed store among a hundred distributions.

Nothing is remembered between answers but the last scan for plugins, so a marker or a configuration that was replaced
counts at once. The row with changes replaces the mode marker before every hundredth call and compares every answer.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

DISTRIBUTIONS = 100

MEASURE = """
import json, os, statistics, sys, time
from agentm_kernel import harness_state_dir, resolve_project

rounds, batch = int(sys.argv[1]), 100
time.sleep(2.1)  # what was installed just now may change again and look the same: it is scanned each time
kept = resolve_project()
WORK = {
    "harness_state_dir()": harness_state_dir,
    "harness_state_dir(resolution)": lambda: harness_state_dir(kept),
    "resolve_project()": resolve_project,
}
times = {name: [] for name in WORK}
for _ in range(rounds):
    for name, work in WORK.items():
        start = time.perf_counter()
        for _ in range(batch):
            work()
        times[name].append((time.perf_counter() - start) / batch)

marker = os.path.join(os.getcwd(), ".harness", ".project-mode")
os.makedirs(os.path.dirname(marker), exist_ok=True)
expected, changing = {}, []
for turn in range(rounds):
    mode = ("local", "backend")[turn % 2]
    with open(marker + ".new", "w") as file:
        file.write(mode)
    os.replace(marker + ".new", marker)
    start = time.perf_counter()
    answers = {str(harness_state_dir()) for _ in range(batch)}
    changing.append((time.perf_counter() - start) / batch)
    assert answers == {expected.setdefault(mode, min(answers))}, (answers, expected)
os.unlink(marker)
times["harness_state_dir() while the marker changes"] = changing
print(json.dumps({name: statistics.median(found) for name, found in times.items()}))
"""


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch / "routing")
    installed.fill(DISTRIBUTIONS)
    stores = {
        "local": installed.home("routing-local", "state write PLAN.md"),
        "synced": installed.home("routing-synced", "vault init ~/vault --create --use", "state write PLAN.md"),
    }
    rows: list[Row] = []
    for kind, environ in stores.items():
        command = [installed.python, "-c", MEASURE, str(setting.rounds(60, 10))]
        done = subprocess.run(command, cwd=installed.project, env=environ, check=True, capture_output=True, text=True)
        for name, seconds in json.loads(done.stdout).items():
            rows.append({"question": name, "store": kind, "rate (1/s)": 1 / seconds, "median (µs)": seconds * 1e6})
    note = (
        f"In one process, with {installed.distributions} distributions installed; `local` is device-local, `synced` "
        "a vault. Every answer is found anew."
    )
    return Table("routing", "Asking for the state directory", note, rows)
