"""What the demo prints, and a device to run `agentm` on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

WIDTH = 110
REMOTE = "git@github.com:ana/widgets.git"


def title(text: str) -> None:
    print(f"\n{text}", flush=True)


def say(text: str) -> None:
    print(f"   {text}", flush=True)


@dataclass
class Device:
    """A laptop: a home of its own, and the `agentm` of this checkout."""

    name: str
    home: Path

    def run(self, command: str, *, cwd: Path, stdin: str = "") -> str:
        """Run a command line as its user would, and show both the line and what it printed."""
        print(f"   {self.name}$ {command.replace(str(self.home.parent), '')}", flush=True)
        path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
        done = subprocess.run(
            command,
            shell=True,
            cwd=cwd,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"},
        )
        for line in done.stdout.replace(str(self.home.parent), "").splitlines():
            print(textwrap.fill(line, WIDTH, initial_indent=" " * 5, subsequent_indent=" " * 9), flush=True)
        return done.stdout


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def a_project(device: Device) -> Path:
    project = make(device.home / "widgets")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "remote", "add", "origin", REMOTE], check=True)
    return project


def session_start(project: Path) -> str:
    """What an agent host says when a session starts."""
    return json.dumps({"cwd": str(project), "hook_event_name": "SessionStart"})
