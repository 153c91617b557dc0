"""What people keep an agent's memory in, and agentm, under the same work: what each lost, tore, misplaced or hid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

REPOSITORY = Path(__file__).resolve().parents[3]
_LIMIT = 180
"""Seconds for a cell. A work goes on for ten, but nine programs that start for it may take ten seconds each."""
_SPEED = "one-add"


def run(setting: Setting) -> Table:
    from tests.benchmarks.rivals.contestants import CONTESTANTS, LEFT_OUT
    from tests.benchmarks.rivals.works import WORKS

    cells = _cells([contestant.name for contestant in CONTESTANTS], list(WORKS), setting)
    rows: list[Row] = []
    left_out, again = dict(LEFT_OUT), []
    for contestant in CONTESTANTS:
        own = {work: cells[contestant.name, work] for work in WORKS}
        absent = [fields["said"] for fields in own.values() if fields["words"] == "not installed"]
        if absent:
            left_out[contestant.name] = absent[0]
            continue
        again += [_again(contestant.name, work, fields) for work, fields in own.items() if fields["silent"]]
        rows.append(
            {
                "memory": contestant.name,
                "version": next((fields["version"] for fields in own.values() if fields.get("version")), ""),
                **{work: fields["words"] for work, fields in own.items()},
                "silent": str(sum(fields["silent"] for fields in own.values())),
            }
        )
    note = (
        "Lines that were called done and are gone are lost; what a program said it could not do is refused. silent: "
        "all that went wrong without a word. –: does not apply. "
        + "".join(f"Left out: {name} ({reason}). " for name, reason in left_out.items())
        + "Each loss again:\n\n"
        + "\n".join(again)
    )
    return Table("rivals", "Store safety beside what people use instead", note, rows)


def _cells(names: list[str], works: list[str], setting: Setting) -> dict[tuple[str, str], dict[str, Any]]:
    """Every cell: two at a time, seldom of one memory; but for speed, which has the machine for itself."""
    alone = [(name, _SPEED) for name in names]
    beside = [(name, work) for work in works for name in names if work != _SPEED]
    with ThreadPoolExecutor(2) as pool:
        cells = dict(zip(beside, pool.map(lambda pair: _cell(*pair, setting), beside), strict=True))
    return cells | {pair: _cell(*pair, setting) for pair in alone}


def _again(name: str, work: str, fields: dict[str, Any]) -> str:
    return f"- {name}, {fields['words']}: `.venv/bin/python -m tests.benchmarks.rivals {_option(name)} {work}`"


def _option(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-").lower()


def _cell(name: str, work: str, setting: Setting) -> dict[str, Any]:
    """In a process of its own, which is also the command that reproduces it."""
    command = [sys.executable, "-m", "tests.benchmarks.rivals", _option(name), work, "--json"]
    command += ["--scratch", str(setting.scratch)]
    command += ["--quick"] if setting.quick else []
    began = time.monotonic()
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        found, errors = process.communicate(timeout=_LIMIT)
        failed = {"words": "the benchmark failed", "said": errors.strip()[-300:], "silent": 0}
        fields = failed if process.returncode else json.loads(found)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the programs that it started
        process.communicate()
        fields = {"words": f"did not finish in {_LIMIT} s", "said": "", "silent": 0}
    took = time.monotonic() - began
    print(f"{took:5.1f} s: {name}, {work}: {fields['words']} ({fields.get('said', '')})", file=sys.stderr, flush=True)
    return fields
