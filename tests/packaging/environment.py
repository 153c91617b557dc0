"""A virtual environment with nothing in it but what a test installs, and nothing of the checkout on its path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.packaging.built import REPOSITORY, uv, wheels_in

if TYPE_CHECKING:
    from tests.packaging.built import Wheel

_LEADING_BACK = ("AGENTM_", "MEMORY_", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "XDG_")
"""Variables that would lead Python to the checkout, or agentm to the files of whoever runs this."""


class Failed(Exception):
    """A command failed; the text is the command and what it said."""


class CleanEnvironment:
    """Made in `folder`, which the caller removes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        _run([uv(), "venv", "--quiet", "--python", sys.executable, str(folder / "venv")])

    @property
    def scripts(self) -> Path:
        return self._folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def install(self, *requirements: str, lowest: bool = False, links: Path | None = None) -> None:
        """Install `requirements`; with `lowest`, the oldest versions that they allow."""
        options = ["--resolution", "lowest-direct"] if lowest else []
        if links:
            options += ["--find-links", str(links)]
            # A wheel that is built anew keeps its name, by which uv would take an older one out of its cache.
            options += [f"--refresh-package={wheel.distribution}" for wheel in wheels_in(links)]
        self._uv_pip("install", *options, *requirements)

    def install_test_tools(self) -> None:
        """What the repository's own environment has for testing, and not a line of agentm."""
        self._uv_pip("install", "--group", f"{REPOSITORY / 'pyproject.toml'}:dev")

    def check(self) -> None:
        """Fail unless everything that is installed has what it requires."""
        self._uv_pip("check")

    def versions(self) -> dict[str, str]:
        lines = self._uv_pip("list", "--format=freeze").splitlines()
        return dict(line.split("==", 1) for line in lines)

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """The output of a program of this environment, named without its folder, with an empty home."""
        program = shutil.which(command[0], path=str(self.scripts))
        if program is None:
            raise Failed(f"{command[0]} is not installed")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_LEADING_BACK)}
        environ.update(HOME=str(self.home), USERPROFILE=str(self.home))
        return _run([program, *command[1:]], cwd=cwd or self.home, env=environ)

    def run_tests(self, wheel: Wheel) -> str:
        """Run the tests of `wheel`'s distribution from a copy without any source of ours; pytest's last line."""
        copy = self._folder / "checkout"
        for folder in {REPOSITORY / "tests", wheel.tests, *REPOSITORY.glob("plugins/*/tests")}:
            target = copy / folder.relative_to(REPOSITORY)
            shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        for settings in ("pyproject.toml", "conftest.py"):  # of pytest
            shutil.copy(REPOSITORY / settings, copy)
        where = self.run("python", "-c", f"import {wheel.package} as p; print(p.__file__)", cwd=copy).strip()
        if not Path(where).is_relative_to(self._folder):
            raise Failed(f"{wheel.package} is imported from {where}, not from the wheel")
        tests = str(wheel.tests.relative_to(REPOSITORY))
        output = self.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", tests, cwd=copy)
        return output.strip().splitlines()[-1]

    def _uv_pip(self, verb: str, *arguments: str) -> str:
        return _run([uv(), "pip", verb, "--quiet", "--python", str(self.scripts / "python"), *arguments])


def _run(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(command, cwd=cwd, env=env, check=False, capture_output=True, text=True)
    if result.returncode:
        raise Failed(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout
