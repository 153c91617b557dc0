"""What an agent waits for at each hook, against a bare interpreter: every plugin installed, 1,000 notes."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed, every_plugin
from tests.benchmarks.measure import interleave
from tests.benchmarks.recall_start import BARE, fill
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

NOTES = 1000
_SETTLED = 2.5
"""Seconds after which what was written counts as at rest."""
_HOOKS = {
    "session-start": ("session-start", "", "≤ 3 ×"),
    "prompt, which a note answers": ("prompt", "Why are failed requests retried with a delay?", "≤ 3.5 ×"),
    "prompt, which none answers": ("prompt", "Write a haiku about mountains in spring", "≤ 3.5 ×"),
    "turn-end": ("turn-end", "", ""),
}
"""What is shown, its event, the prompt, the goal."""


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch, every_plugin())
    installed.fill(100)
    environ = installed.home("hooks", "state write PLAN.md")
    fill(Path(environ["HOME"]) / ".agentm" / "memory", installed.project.name, NOTES)
    _agentm(installed, environ, "project", "register")
    _agentm(installed, environ, "reindex")
    time.sleep(_SETTLED)
    _agentm(installed, environ, "reindex", "--update")
    work = {BARE: installed.starting(BARE, environ)}
    work |= {shown: _hook(installed, environ, event, prompt) for shown, (event, prompt, _) in _HOOKS.items()}
    samples = interleave(work, rounds=setting.rounds(40, 5), batch=1)
    rows: list[Row] = [
        {
            "hook": shown,
            "time (ms)": samples.seconds(shown) * 1e3,
            "against python -c pass (×)": samples.cost(shown, BARE),
            "goal": goal,
        }
        for shown, (_, _, goal) in _HOOKS.items()
    ]
    note = (
        f"`agentm hook … --host claude-code`, each in a session of its own, from {NOTES:,} notes in one project; "
        "every plugin of this repository, among 100 distributions; compiled wheels; the index is up to date."
    )
    return Table("hook_start", "Hooks of an agent host", note, rows)


def _agentm(installed: Installed, environ: dict[str, str], *words: str) -> None:
    subprocess.run([installed.agentm, *words], cwd=installed.project, env=environ, check=True, capture_output=True)


def _hook(installed: Installed, environ: dict[str, str], event: str, prompt: str) -> Callable[[], object]:
    sessions = iter(range(1_000_000))

    def call() -> object:
        session = f"{event}-{next(sessions)}"
        given = json.dumps({"session_id": session, "cwd": str(installed.project), "prompt": prompt})
        return subprocess.run(
            [installed.agentm, "hook", event, "--host", "claude-code"],
            cwd=installed.project,
            env=environ,
            input=given.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )

    return call
