"""Building the wheels, and reading what they say about themselves."""

from __future__ import annotations

import email.parser
import os
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from email.message import Message

REPOSITORY = Path(__file__).resolve().parents[2]
KERNEL = "agentm-kernel"


class BuildFailed(Exception):
    """The wheels could not be built; the text is what the builder said."""


def uv() -> str:
    """The uv beside this interpreter, as the Makefile installs it, or else any."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which("uv", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        raise BuildFailed("uv is not installed: run `make setup`")
    return found


def build(folder: Path) -> list[Wheel]:
    """Build every distribution of the workspace into `folder`."""
    command = [uv(), "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(folder)]
    result = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    if result.returncode:
        raise BuildFailed(result.stderr)
    return wheels_in(folder)


def wheels_in(folder: Path) -> list[Wheel]:
    return [Wheel(file) for file in sorted(folder.glob("*.whl"))]


@dataclass(frozen=True)
class Wheel:
    """One built wheel."""

    file: Path

    @cached_property
    def names(self) -> list[str]:
        with zipfile.ZipFile(self.file) as archive:
            return archive.namelist()

    def _text(self, name: str) -> str:
        """A file of the wheel's metadata; empty where there is none."""
        with zipfile.ZipFile(self.file) as archive:
            wanted = [entry for entry in archive.namelist() if entry.endswith(f".dist-info/{name}")]
            return archive.read(wanted[0]).decode() if wanted else ""

    @cached_property
    def metadata(self) -> Message:
        return email.parser.Parser().parsestr(self._text("METADATA"))

    @property
    def distribution(self) -> str:
        return str(self.metadata["Name"])

    @property
    def version(self) -> str:
        return str(self.metadata["Version"])

    @property
    def requirements(self) -> list[Requirement]:
        """What is installed with it, extras left out."""
        found = [Requirement(text) for text in self.metadata.get_all("Requires-Dist", [])]
        return [requirement for requirement in found if "extra" not in str(requirement.marker)]

    @property
    def with_extras(self) -> str:
        """The wheel and all that it offers, as a requirement."""
        extras = ",".join(self.metadata.get_all("Provides-Extra", []))
        return f"{self.file}[{extras}]" if extras else str(self.file)

    @property
    def entry_points(self) -> dict[str, dict[str, str]]:
        parser = ConfigParser(delimiters=("=",))
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(self._text("entry_points.txt"))
        return {section: dict(parser[section]) for section in parser.sections()}

    @property
    def package(self) -> str:
        """The import package."""
        return self.distribution.replace("-", "_")

    @property
    def tests(self) -> Path:
        """Where the tests of this distribution lie in the repository."""
        if self.distribution == KERNEL:
            return REPOSITORY / "tests" / "kernel"
        return REPOSITORY / "plugins" / self.distribution.removeprefix("agentm-") / "tests"


def mismatched_ranges(wheels: list[Wheel]) -> list[str]:
    """Plugins that would not accept the kernel they were built beside: a workspace never notices (pip does)."""
    (kernel,) = (wheel for wheel in wheels if wheel.distribution == KERNEL)
    complaints = []
    for wheel in wheels:
        if wheel is kernel:
            continue
        wanted = [requirement for requirement in wheel.requirements if requirement.name == KERNEL]
        if not wanted:
            complaints.append(f"{wheel.distribution} does not require {KERNEL}")
        elif not wanted[0].specifier.contains(kernel.version, prereleases=True):
            complaints.append(f"{wheel.distribution} requires {wanted[0]}, but the kernel is {kernel.version}")
        elif not any(clause.operator in ("<", "<=", "==", "~=") for clause in wanted[0].specifier):
            complaints.append(f"{wheel.distribution} accepts every later kernel: give {wanted[0]} an upper bound")
    return complaints
