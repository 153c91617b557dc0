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
from tests.benchmarks.writes import STORES

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

REPOSITORY = Path(__file__).resolve().parents[2]
CROWDS = (1, 8, 32)
SECONDS = 1.5
"""How long a crowd writes: short, so that one writer and many meet the same noise, and repeated."""
GOALS = {8: "≥ 0.8 ×, p99 ≤ 60 ms, fairness ≥ 0.8", 32: "≥ 500/s, longest ≤ 300 ms"}


@dataclass
class Crowd:
    """What a number of writers did, over all rounds."""

    rates: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)
    """Writes of the slowest writer as a share of the fastest one's, per round."""


def run(setting: Setting) -> Table:
    rows = [row for store in STORES for row in _rows(setting, store)]
    note = (
        f"Each process overwrites its own 2 kB note for {SECONDS:g} s. A wait is a whole write, from call to return; "
        "nobody ends before the last write is through. "
        "Rates are medians over rounds, fairness is that of the worst round (slowest writer / fastest writer)."
    )
    return Table("contention", "Processes writing one store", note, rows)


def _rows(setting: Setting, store: str) -> list[Row]:
    crowds = {size: Crowd() for size in CROWDS}
    order = list(crowds.items())
    for turn in range(setting.rounds(6, 2)):
        for size, crowd in order:
            _run_crowd(crowd, size, store, str(setting.scratch / f"{store}-{turn}-{size}"))
        order.reverse()
    return [_row(store, size, crowd, crowds[1].rates) for size, crowd in crowds.items()]


def _row(store: str, size: int, crowd: Crowd, alone: list[float]) -> Row:
    return {
        "store": store,
        "writers": str(size),
        "rate (1/s)": statistics.median(crowd.rates),
        "against one (×)": statistics.median(own / one for own, one in zip(crowd.rates, alone, strict=True)),
        "p50 (ms)": percentile(crowd.waits, 0.5) * 1e3,
        "p99 (ms)": percentile(crowd.waits, 0.99) * 1e3,
        "longest (ms)": max(crowd.waits) * 1e3,
        "fairness (×)": min(crowd.fairness),
        "goal": GOALS.get(size, ""),
    }


def _run_crowd(crowd: Crowd, size: int, store: str, root: str) -> None:
    writers = [_start(store, root, f"writer-{number}.md") for number in range(size)]
    try:
        for said in ("ready\n", "done\n"):
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline() == said
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


def _start(store: str, root: str, note: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.benchmarks.writer", store, root, note, str(SECONDS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
