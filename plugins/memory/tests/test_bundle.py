"""The bundle brings a memory that works, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution, requires


def test_it_exposes_the_command_itself():
    """uv and pipx expose no script of a dependency."""
    scripts = {entry.name: entry.value for entry in distribution("agentm-memory").entry_points}
    assert scripts == {"agentm": "agentm_kernel.cli.main:main"}


def test_what_it_requires_is_enough_to_save_and_to_recall(tmp_path):
    wanted = " ".join(requires("agentm-memory") or ())
    assert all(name in wanted for name in ("agentm-kernel", "agentm-device-local", "agentm-recall"))
    home, project = tmp_path / "home", tmp_path / "widgets"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    home.mkdir()
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}

    def agentm(*words: str, text: str = "") -> str:
        command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *words]
        done = subprocess.run(
            command, cwd=project, env=environ, input=text, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    agentm("save", "--kind", "decision", "--slug", "sqlite", text="We use SQLite.\n")
    assert "We use SQLite." in agentm("recall-here")
