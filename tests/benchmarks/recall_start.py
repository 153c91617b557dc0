"""Starting a session with notes to recall, against a bare interpreter: all notes in the one project that starts."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed, every_plugin
from tests.benchmarks.measure import interleave
from tests.benchmarks.memory.corpus import notes
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

BARE = "python -c pass"
COMMANDS = ("hook session-start", "recall-here", "recall-here --query retries")
SIZES = (0, 100, 1000)
_LONG_AGO = 86_400 * 30


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch, every_plugin())
    installed.fill(100)
    rows: list[Row] = []
    for size in SIZES:
        environ = installed.home(f"notes-{size}", "state write PLAN.md")
        fill(Path(environ["HOME"]) / ".agentm" / "memory", installed.project.name, size)
        subprocess.run(
            [installed.agentm, "reindex"], cwd=installed.project, env=environ, check=True, capture_output=True
        )
        work = {command: installed.starting(command, environ) for command in (BARE, *COMMANDS)}
        samples = interleave(work, rounds=setting.rounds(40, 5), batch=1)
        rows += [
            {
                "command": f"agentm {command}",
                "notes": f"{size:,}",
                "time (ms)": samples.seconds(command) * 1e3,
                "against python -c pass (×)": samples.cost(command, BARE),
                "goal": "≤ 3 ×" if size == 1000 and command == COMMANDS[0] else "",
            }
            for command in COMMANDS
        ]
    note = (
        "Whole processes, started in turn, with every plugin of this repository among 100 distributions; compiled "
        "wheels; the index is up to date."
    )
    return Table("recall_start", "Recall: starting a session", note, rows)


def fill(root: Path, project: str, size: int) -> None:
    """Notes as `agentm save` writes them, and an identity for the store."""
    generator = random.Random(5)
    (root / "_meta").mkdir(parents=True)
    (root / "_meta" / "store.json").write_text('{"id": "benchmark", "created": "2025-01-01", "layout": 1}\n')
    entries = notes()
    then = time.time() - _LONG_AGO
    for number in range(size):
        entry = generator.choice(entries)
        date = f"2025-{generator.randint(1, 7):02}-{generator.randint(1, 28):02}T10:00:00+00:00"
        kind, folder = generator.choice([("decision", "decisions"), ("known-issue", "known-issues")])
        head = f"kind: {kind}\nstatus: active\nproject: {project}\ncreated: {date}\nupdated: {date}\nsource: agent"
        file = root / "projects" / project / folder / f"{entry.slug}-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{head}\n---\n\n# {entry.title}\n\n{entry.body}\n")
        os.utime(file, (then, then))
