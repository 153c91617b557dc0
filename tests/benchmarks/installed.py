"""agentm as users have it: wheels in an environment of their own, compiled, among other distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.packaging.built import REPOSITORY, uv
from tests.packaging.environment import CleanEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLUGINS = ("agentm-device-local", "agentm-obsidian-vault")


def every_plugin() -> tuple[str, ...]:
    """The names of this repository's distributions, but for the kernel."""
    projects = sorted((REPOSITORY / "plugins").glob("*/pyproject.toml"))
    return tuple(tomllib.loads(file.read_text())["project"]["name"] for file in projects)


class Installed:
    """Made in `folder`, which the caller removes."""

    def __init__(self, folder: Path, plugins: Sequence[str] = PLUGINS) -> None:
        wheels = folder / "wheels"
        for name in ("agentm-kernel", *plugins):
            command = [uv(), "build", "--quiet", "--package", name, "--wheel", "--out-dir", str(wheels)]
            subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
        self._environment = CleanEnvironment(folder / "environment")
        self._environment.install(*plugins, links=wheels)
        self.python = str(self._environment.scripts / "python")
        self.agentm = str(self._environment.scripts / "agentm")
        self.site = Path(
            self._environment.run("python", "-c", "import click; print(click.__path__[0])").strip()
        ).parent
        self._environment.run("python", "-m", "compileall", "-q", str(self.site))
        self.project = folder / "project"
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)

    @property
    def distributions(self) -> int:
        return len([*self.site.glob("*.dist-info")])

    def fill(self, count: int) -> None:
        """Have `count` distributions: what is missing is made up of folders as pip leaves them."""
        for filler in self.site.glob("filler_*.dist-info"):
            shutil.rmtree(filler)
        for number in range(count - self.distributions):
            info = self.site / f"filler_{number}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: filler-{number}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[console_scripts]\nfiller-{number} = filler:main\n")

    def home(self, name: str, *commands: str) -> dict[str, str]:
        """The environment of a user in a home of their own, after `commands` of agentm in the project."""
        folder = self.site.parents[3] / f"home-{name}"
        folder.mkdir()
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        for command in commands:
            arguments = [word.replace("~", str(folder)) for word in command.split()]
            subprocess.run(
                [self.agentm, *arguments],
                cwd=self.project,
                env=environ,
                input=b"text\n",
                check=True,
                capture_output=True,
            )
        return environ

    def starting(self, command: str, environ: dict[str, str]) -> Callable[[], object]:
        """A call that runs the command as a process, from start to end."""
        words = [self.python, "-c", "pass"] if command == "python -c pass" else [self.agentm, *command.split()]
        return lambda: subprocess.run(
            words,
            cwd=self.project,
            env=environ,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
