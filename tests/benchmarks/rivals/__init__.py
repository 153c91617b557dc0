"""What people keep an agent's memory in, and agentm, under the same work: what each lost, tore, misplaced or hid."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

REPOSITORY = Path(__file__).resolve().parents[3]
_LIMIT = 150
_SPEED = "one-add"


def run(setting: Setting) -> Table:
    from tests.benchmarks.rivals.contestants import CONTESTANTS, LEFT_OUT
    from tests.benchmarks.rivals.works import WORKS

    asked = [(contestant.name, work) for contestant in CONTESTANTS for work in WORKS]
    with ThreadPoolExecutor(2) as pool:  # a work waits more than it computes; only speed wants the machine for itself
        safety = [pair for pair in asked if pair[1] != _SPEED]
        cells = dict(zip(safety, pool.map(lambda pair: _cell(*pair, setting), safety), strict=True))
    cells |= {pair: _cell(*pair, setting) for pair in asked if pair[1] == _SPEED}
    rows: list[Row] = []
    left_out, again = dict(LEFT_OUT), []
    for contestant in CONTESTANTS:
        own = {work: cells[contestant.name, work] for work in WORKS}
        absent = [fields["said"] for fields in own.values() if fields["words"] == "not installed"]
        if absent:
            left_out[contestant.name] = absent[0]
            continue
        again += [f"`{_command(contestant.name, work)}`" for work, fields in own.items() if fields["silent"]]
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
        + f"Each loss again: {', '.join(again)}."
    )
    return Table("rivals", "Store safety beside what people use instead", note.strip(), rows)


def _command(name: str, work: str) -> str:
    return f"python -m tests.benchmarks.rivals {_option(name)} {work}"


def _option(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-").lower()


def _cell(name: str, work: str, setting: Setting) -> dict[str, Any]:
    """In a process of its own, which is also the command that reproduces it."""
    command = [sys.executable, "-m", "tests.benchmarks.rivals", _option(name), work, "--json"]
    command += ["--scratch", str(setting.scratch)]
    command += ["--quick"] if setting.quick else []
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return {"words": f"no answer in {_LIMIT} s", "said": "", "silent": 0}
    if done.returncode:
        return {"words": "the benchmark failed", "said": done.stderr.strip()[-300:], "silent": 0}
    fields: dict[str, Any] = json.loads(done.stdout)
    print(f"{name}, {work}: {fields['words']} ({fields.get('said', '')})", file=sys.stderr, flush=True)
    return fields
