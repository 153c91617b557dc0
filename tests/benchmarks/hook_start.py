"""What an agent waits for at each hook, against a bare interpreter: every plugin installed, 1,000 notes."""

from __future__ import annotations

import json
import os
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
    from typing import Any

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
    left = _LeftRunning()
    work = {BARE: installed.starting(BARE, environ)}
    work |= {shown: _hook(installed, environ, event, prompt, left) for shown, (event, prompt, _) in _HOOKS.items()}
    samples = interleave(work, rounds=setting.rounds(40, 5), batch=1, settle=left.wait)
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


class _LeftRunning:
    """What a hook does when its answer is out, in a process that nobody waits for: it must not slow the next one."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def run(self, command: list[str], **options: Any) -> None:
        """Run a command whose processes, the last one to go included, hold an end of a pipe."""
        reading, writing = os.pipe()
        self._ends.append(reading)
        try:
            subprocess.run(command, check=True, pass_fds=(writing,), **options)
        finally:
            os.close(writing)

    def wait(self) -> None:
        while self._ends:
            with open(self._ends.pop(), "rb") as end:
                end.read()


def _hook(
    installed: Installed, environ: dict[str, str], event: str, prompt: str, left: _LeftRunning
) -> Callable[[], object]:
    sessions = iter(range(1_000_000))

    def call() -> None:
        session = f"{event}-{next(sessions)}"
        given = json.dumps({"session_id": session, "cwd": str(installed.project), "prompt": prompt})
        left.run(
            [installed.agentm, "hook", event, "--host", "claude-code"],
            cwd=installed.project,
            env=environ,
            input=given.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    return call
