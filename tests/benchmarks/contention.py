"""Several processes writing one store, against one writer of the same run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measure import percentile
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

REPOSITORY = Path(__file__).resolve().parents[2]
CROWDS = (1, 8, 32)
SECONDS = 1.5
"""How long a crowd writes: short, so that one writer and many meet the same noise, and repeated."""
GOALS = {8: "≥ 0.6 ×, p99 ≤ 100 ms, fairness ≥ 0.6", 32: "≥ 300/s, longest ≤ 500 ms"}


@dataclass
class Crowd:
    """What a number of writers did, over all rounds."""

    rates: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)
    """Writes of the slowest writer as a share of the fastest one's, per round."""


def run(setting: Setting) -> Table:
    crowds = {size: Crowd() for size in CROWDS}
    order = list(crowds.items())
    for turn in range(setting.rounds(8, 2)):
        for size, crowd in order:
            _run_crowd(crowd, size, str(setting.scratch / f"store-{turn}-{size}"))
        order.reverse()
    alone = crowds[1].rates
    rows = [_row(size, crowd, alone) for size, crowd in crowds.items()]
    note = (
        f"Each process overwrites its own 2 kB note for {SECONDS:g} s. A wait is a whole write, from call to return. "
        "Rates are medians over rounds, fairness is that of the worst round (slowest writer / fastest writer)."
    )
    return Table("contention", "Processes writing one store", note, rows)


def _row(size: int, crowd: Crowd, alone: list[float]) -> Row:
    return {
        "writers": str(size),
        "rate (1/s)": statistics.median(crowd.rates),
        "against one (×)": statistics.median(own / one for own, one in zip(crowd.rates, alone, strict=True)),
        "p50 (ms)": percentile(crowd.waits, 0.5) * 1e3,
        "p99 (ms)": percentile(crowd.waits, 0.99) * 1e3,
        "longest (ms)": max(crowd.waits) * 1e3,
        "fairness (×)": min(crowd.fairness),
        "goal": GOALS.get(size, ""),
    }


def _run_crowd(crowd: Crowd, size: int, root: str) -> None:
    writers = [_start(root, f"writer-{number}.md") for number in range(size)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("\n")
            writer.stdin.flush()
        waits = [json.loads(writer.communicate()[0]) for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    crowd.rates.append(sum(map(len, waits)) / SECONDS)
    crowd.fairness.append(min(map(len, waits)) / max(map(len, waits)))
    crowd.waits.extend(wait for each in waits for wait in each)


def _start(root: str, note: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.benchmarks.writer", root, note, str(SECONDS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
