"""What importing costs: the package, and each public name, against a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import agentm_kernel
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

BARE = "python -c pass"


def run(setting: Setting) -> Table:
    statements = {BARE: "pass", "agentm_kernel": "import agentm_kernel"}
    homes = agentm_kernel._HOMES
    for home in dict.fromkeys(homes.values()):
        names = [name for name in homes if homes[name] == home]
        # Names of one home cost the same: its import.
        label = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more of {home}"
        statements[label] = f"from agentm_kernel import {names[0]}"
    work = {label: _starting(statement) for label, statement in statements.items()}
    samples = interleave(work, rounds=setting.rounds(25, 3), batch=1)
    rows: list[Row] = [
        {
            "import": label,
            "whole process (ms)": samples.seconds(label) * 1e3,
            "beyond bare (ms)": samples.extra(label, BARE) * 1e3,
            "against bare (×)": samples.cost(label, BARE),
        }
        for label in work
    ]
    note = "Whole processes, started in turn; compiled bytecode. Names that live in one module cost the same."
    return Table("imports", "Imports", note, rows)


def _starting(statement: str) -> Callable[[], object]:
    command = [sys.executable, "-c", statement]
    return lambda: subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
