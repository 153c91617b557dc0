"""Fixtures for the tests of plugins: a home of its own, in which agentm runs as its user runs it (needs pytest).

    from agentm_devkit.fixtures import home

`home` knows nothing of the user's own store, configuration or environment, and what is made in it is thrown away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import Device, HookCaller, HookContext

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import DoctorRow, PluginFailure, Section, StorageBackend

_AGENTM = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV", "AGENTM_DEBUG", "AGENTM_TRACE_PLUGINS")


class Home:
    """The home of a user who has just installed agentm and your plugin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        """The folder that commands run in."""
        self.work.mkdir(parents=True)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        folders = {
            f"XDG_{name}_HOME": str(folder / f".{name.lower()}") for name in ("STATE", "CACHE", "CONFIG", "DATA")
        }
        path = os.pathsep.join((os.path.dirname(sys.executable), kept.get("PATH", "")))  # `agentm` of this Python
        self.environ = {**kept, **folders, "PATH": path, "HOME": str(folder), "USERPROFILE": str(folder)}

    @property
    def device(self) -> Device:
        """This home as the kernel sees it, read anew each time."""
        return Device(self.environ)

    def store(self) -> StorageBackend:
        """The selected store, for writing too."""
        return self.device.store(read_only=False)

    def project(self) -> Path:
        """Make the working folder the project `demo`: a git work tree with an origin of that name."""
        git = self.work / ".git"
        git.mkdir()
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text('[remote "origin"]\n\turl = https://git.example.com/ana/demo.git\n')
        return self.work

    # -- the command ------------------------------------------------------------------------------------------

    def run(self, *arguments: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """`agentm ARGUMENTS`, with `given` on its standard input."""
        return subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-P", "-c", _AGENTM, *arguments],
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
            env={**self.environ, **environ},
            cwd=self.work,
        )

    def answer(self, *arguments: str) -> dict[str, Any]:
        """The JSON answer of a command that has to succeed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        fields: dict[str, Any] = json.loads(done.stdout)
        return fields

    # -- hooks --------------------------------------------------------------------------------------------------

    def sections(self) -> list[Section]:
        """What plugins add to the start of a session here."""
        project = self.device.project(str(self.work))
        caller = HookCaller(HookContext(self.device, project.root, project, project.backend), patience=10)
        return self._without_failures(list(caller.session_sections()), caller.failures)

    def doctor_rows(self) -> list[DoctorRow]:
        """What plugins add to `agentm doctor`."""
        caller = self._caller()
        return self._without_failures(list(caller.doctor_checks()), caller.failures)

    def event(self, name: str, **payload: object) -> list[str]:
        """Tell plugins of an event; the lines that they have for the operator."""
        caller = self._caller()
        return self._without_failures(list(caller.event(name, payload)), caller.failures)

    def _caller(self) -> HookCaller:
        return HookCaller(HookContext(self.device, str(self.work)), patience=10)

    def _without_failures(self, answers: list[Any], failures: tuple[PluginFailure, ...]) -> list[Any]:
        assert not failures, failures[0].message
        return answers


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of its own for one test."""
    return Home(tmp_path / "home")
