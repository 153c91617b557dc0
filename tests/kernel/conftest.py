"""Real distributions in a folder of their own: what pip leaves behind, without pip."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Site:
    """A folder of installed distributions, and a Python that has it on its search path."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self.home = home

    def install(
        self,
        name: str,
        version: str = "1.0",
        *,
        entry_points: str | bytes = "",
        modules: dict[str, str] | None = None,
        folder: str | None = None,
        metadata: str | None = None,
    ) -> Path:
        """Write the metadata folder of a distribution, and its modules beside it."""
        info = self.path / (folder or f"{name.replace('-', '_')}-{version}.dist-info")
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if isinstance(entry_points, str):
            entry_points = dedent(entry_points).encode()
        if entry_points:
            (info / "entry_points.txt").write_bytes(entry_points)
        for file, source in (modules or {}).items():
            target = self.path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(dedent(source))
        return info

    def install_plugin(
        self, name: str, source: str, *, group: str = "agentm.backends", attribute: str = "Store"
    ) -> str:
        """A distribution `agentm-<name>` with one module and one entry point called `name`; returns the module."""
        module = f"plugin_{name.replace('-', '_')}"
        self.install(
            f"agentm-{name}",
            entry_points=f"[{group}]\n{name} = {module}{':' if attribute else ''}{attribute}\n",
            modules={f"{module}.py": source},
        )
        return module

    def run(self, *arguments: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """`python ARGUMENTS` in an empty home, with only what this site holds added to the search path."""
        return subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=cwd or self.home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": str(self.path),
                "PYTHONDONTWRITEBYTECODE": "1",
                **environ,
            },
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty site folder and an empty home."""
    folder, home = tmp_path / "site", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    return Site(folder, home)


@pytest.fixture
def second_site(tmp_path: Path) -> Site:
    """Another one, for what lies twice on the search path."""
    folder, home = tmp_path / "second", tmp_path / "second-home"
    folder.mkdir()
    home.mkdir()
    return Site(folder, home)
