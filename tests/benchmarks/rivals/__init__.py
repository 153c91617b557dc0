"""What people keep an agent's memory in, and agentm, under the same work: what each lost, tore, misplaced or hid."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

REPOSITORY = Path(__file__).resolve().parents[3]
_LIMIT = 400


def run(setting: Setting) -> Table:
    from tests.benchmarks.rivals.contestants import CONTESTANTS, LEFT_OUT
    from tests.benchmarks.rivals.works import WORKS

    rows: list[Row] = []
    left_out = dict(LEFT_OUT)
    for contestant in CONTESTANTS:
        row: Row = {"memory": contestant.name, "version": ""}
        silent = 0
        for work in WORKS:
            fields = _cell(contestant.name, work, setting)
            if fields["words"] == "not installed":
                left_out[contestant.name] = fields["said"]
                break
            row["version"] = fields.get("version", "")
            row[work] = fields["words"]
            silent += fields["silent"]
            print(f"{contestant.name}, {work}: {fields['words']} ({fields.get('said', '')})", file=sys.stderr)
        else:
            rows.append({**row, "silent": str(silent)})
    note = (
        "Lines that were called done and are gone are lost; what a program said it could not do is refused. silent: "
        "all that went wrong without a word. –: does not apply. "
        + "".join(f"Left out: {name} ({reason}). " for name, reason in left_out.items())
        + "A cell again: `python -m tests.benchmarks.rivals MEMORY WORK`."
    )
    return Table("rivals", "Store safety beside what people use instead", note.strip(), rows)


def _cell(name: str, work: str, setting: Setting) -> dict[str, Any]:
    """In a process of its own, which is also the command that reproduces it."""
    store = name.replace(", ", "-").replace(" ", "-").lower()
    command = [sys.executable, "-m", "tests.benchmarks.rivals", store, work, "--json", "--scratch", setting.scratch]
    command += ["--quick"] if setting.quick else []
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return {"words": f"no answer in {_LIMIT} s", "said": "", "silent": 0}
    if done.returncode:
        return {"words": "the benchmark failed", "said": done.stderr.strip()[-300:], "silent": 0}
    fields: dict[str, Any] = json.loads(done.stdout)
    return fields
