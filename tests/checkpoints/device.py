"""A device for tests: a home of its own, a project in it, and the command as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

AGENTM = os.path.join(os.path.dirname(sys.executable), "agentm")


class Device:
    """A home of its own and a project in it; a second project has the home of the first."""

    def __init__(self, folder: Path, *, home: Path | None = None, name: str = "widgets") -> None:
        self.home = home or folder
        self.project = folder / name
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        self.environ: dict[str, str] = {}
        """Variables beside those that every device has."""

    def agentm(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        done = self._run(arguments, stdin)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """What a command says that has to fail."""
        done = self._run(arguments)
        assert done.returncode == 1, (arguments, done.stdout, done.stderr)
        return done.stderr

    def _run(self, arguments: tuple[str, ...], stdin: str = "") -> subprocess.CompletedProcess[str]:
        own = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            [AGENTM, *arguments],
            env={**own, "AGENTM_PATIENCE": "30", **self.environ},
            cwd=self.project,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
