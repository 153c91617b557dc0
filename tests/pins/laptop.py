"""A device as its operator has it: a home, a checkout, every plugin of this repository, and the real command.

Nothing of agentm is imported here or patched: these tests have to mean the same after a rewrite.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes and processes")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


_MAIN = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
_RUNNER = """
import json, os, sys
import agentm_kernel.cli.app
from agentm_kernel.cli.main import main
for command in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        environ = [word for word in command if word.startswith('$')]
        os.environ.update(word[1:].split('=', 1) for word in environ)
        sys.argv = ['agentm', *command[len(environ):]]
        os._exit(main())
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
"""
CONFLICT = 3
"""The exit code of a command whose condition was not met."""


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Laptop:
    """Everything lies below `folder`; `umask` is that of every command."""

    def __init__(self, folder: Path, umask: int = 0o022) -> None:
        self.folder = folder
        self.umask = umask
        self.home = folder / "home"
        self.project = folder / "widgets"
        self.harness = self.project / ".harness"
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}
        self.home.mkdir(parents=True)
        self.project.mkdir()
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def start(
        self, *arguments: str, cwd: Path | None = None, before: str = "", **environ: str
    ) -> subprocess.Popen[str]:
        """`agentm ARGUMENTS`, as a process whose input the caller gives; `before` is Python that it runs first."""
        return subprocess.Popen(
            [sys.executable, "-P", "-c", f"{before}\n{_MAIN}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd or self.project,
            env={**self.environ, **environ},
            umask=self.umask,
        )

    def run(
        self, *arguments: str, input: str = "", cwd: Path | None = None, before: str = "", **environ: str
    ) -> Said:
        with self.start(*arguments, cwd=cwd, before=before, **environ) as process:
            out, err = process.communicate(input, timeout=100)
        return Said(process.returncode, out, err)

    def must(self, *arguments: str, input: str = "", cwd: Path | None = None, **environ: str) -> str:
        said = self.run(*arguments, input=input, cwd=cwd, **environ)
        assert said.code == 0, f"agentm {' '.join(arguments)}: {said.err}"
        return said.out

    def race(self, *runners: Sequence[Sequence[str]]) -> None:
        """Run the commands of each runner one after the other, all runners at the same time.

        Each forks a process that has imported everything, so that the commands meet within milliseconds.
        """
        running = []
        for commands in runners:
            script = [sys.executable, "-c", _RUNNER, json.dumps([list(command) for command in commands])]
            options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
            running.append(
                subprocess.Popen(script, cwd=self.project, env=self.environ, stdin=subprocess.PIPE, **options)  # type: ignore[call-overload]
            )
        for process in running:
            with process:
                _, complaint = process.communicate(timeout=100)
            assert process.returncode == 0, complaint

    @property
    def config(self) -> dict[str, object]:
        text = (self.home / ".config" / "agentm" / ".agentm-config.json").read_text()
        found: dict[str, object] = json.loads(text)
        return found

    def modes(self, *skipped: Path) -> dict[str, str]:
        """Every name below the folder with its mode as `ls` shows it, what is below `skipped` left out."""
        return {
            str(path.relative_to(self.folder)): stat.filemode(path.lstat().st_mode)
            for path in sorted(self.folder.rglob("*"))
            if not any(path.is_relative_to(one) for one in skipped)
        }
