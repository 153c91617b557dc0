"""The real command in a home of its own, and builds of agentm that lack one of its guards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from agentm_prove.place import PREFIX

AGENTM = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


class Bench:
    """A home in which `agentm prove` runs as its user runs it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        self.sabotage_folder = folder / "sabotage"

    def sabotage(self, source: str) -> None:
        """Every process that starts from now on, agentm's own too, runs this first."""
        self.sabotage_folder.mkdir()
        (self.sabotage_folder / "sitecustomize.py").write_text(dedent(source))
        self.environ["PYTHONPATH"] = str(self.sabotage_folder)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-c", AGENTM, *arguments]

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env=self.environ,
            cwd=self.home,
        )

    def prove(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        done = self.run("prove", "--json", *arguments)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def outcome(self, trial: str) -> tuple[str, str]:
        """What came of one trial."""
        _, answer = self.prove("--only", trial)
        (found,) = answer["trials"]
        return found["state"], found["saw"]

    def left_over(self) -> list[str]:
        folders = os.walk(self.home)  # which, unlike `rglob`, goes on where a folder is deleted meanwhile
        return [os.path.join(at, name) for at, names, _ in folders for name in names if name.startswith(PREFIX)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
