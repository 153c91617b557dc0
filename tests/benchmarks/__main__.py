"""`python -m tests.benchmarks [NAME…] [--quick] [--json PATH]`: Markdown on standard output, numbers in a file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measure import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.tables import Table

BENCHMARKS = (
    "writes",
    "reads",
    "contention",
    "locators",
    "imports",
    "startup",
    "routing",
    "deadline",
    "recall",
    "recall_questions",
    "recall_speed",
    "recall_start",
    "hook_start",
    "recall_scale",
    "locomo",
    "checkpoint",
    "bucket",
    "encryption",
    "git",
    "git_engines",
    "rivals",
    "scale",
    "scale_git",
    "scale_large",
    "tools",
    "page",
)
"""Modules of this package, each with `run(setting) -> Table`."""

CACHE = Path(__file__).resolve().parents[2] / ".cache"
SCHEMA = 2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(BENCHMARKS)} (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds: for a first impression")
    parser.add_argument(
        "--json", type=Path, default=CACHE / "bench.json", metavar="PATH", help="where the numbers go"
    )
    parser.add_argument("--scratch", type=Path, default=CACHE, metavar="DIR", help="a folder on the disk to measure")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")

    tables = []
    for name in options.names or BENCHMARKS:
        table = run(name, scratch=options.scratch, quick=options.quick)
        print(table.markdown(), end="\n\n", flush=True)
        tables.append(table)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(options.json.read_text()) if options.json.exists() else {}
    kept = known["tables"] if known.get("schema") == SCHEMA else {}
    document = {"schema": SCHEMA, "tables": {**kept, **as_json(tables, quick=options.quick)}}
    options.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def run(name: str, *, scratch: Path, quick: bool) -> Table:
    """Run one benchmark in a folder of its own, which is gone afterwards."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=scratch) as folder:
        table: Table = import_module(f"tests.benchmarks.{name}").run(Setting(Path(folder), quick))
    return table


def as_json(tables: Sequence[Table], *, quick: bool) -> dict[str, dict[str, object]]:
    """Each table with the day and the machine that it is from: a file may hold tables of several runs."""
    machine = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "quick": quick,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
    return {table.name: {"title": table.title, "note": table.note, "rows": table.rows, **machine} for table in tables}


if __name__ == "__main__":
    main()
