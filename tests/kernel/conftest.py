"""Real distributions in a folder of their own: what pip leaves behind, without pip."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest


class Site:
    """A folder of installed distributions, and a Python that has it on its search path."""

    def __init__(self, path: Path, home: Path, *beside: str) -> None:
        """`beside`: distributions of ours that are installed along with the kernel and the default store."""
        self.path = path
        self.home = home
        self._ours = ("agentm-device-local", *beside)

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
        """`python ARGUMENTS` in an empty home, with this site, the kernel and the default store, and nothing else."""
        path = os.pathsep.join([str(self.path), str(self._kernel())])
        return self.run_beside_others("-S", *arguments, cwd=cwd, **{"PYTHONPATH": path, **environ})

    def run_beside_others(
        self, *arguments: str, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """The same, with everything that is installed for this test run."""
        return subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd or self.home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": str(self.path),
                "PYTHONDONTWRITEBYTECODE": "1",
                **environ,
            },
        )

    def agentm(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """`agentm ARGUMENTS`, as `run` runs it."""
        return self.run("-m", "agentm_kernel.cli.main", *arguments, **environ)

    def answer(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """The JSON answer of a command, which is valid whatever plugins do, and has a schema number."""
        result = self.agentm(*arguments, "--json")
        assert result.returncode == code, result.stderr
        fields: dict[str, Any] = json.loads(result.stdout)
        assert fields["schema"] == 1
        return fields

    def configure(self, **settings: object) -> Path:
        """Write the configuration of this home."""
        file = self.home / ".config" / "agentm" / ".agentm-config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
        return file

    def home_files(self) -> list[str]:
        """Everything that lies in this home."""
        return sorted(str(file.relative_to(self.home)) for file in self.home.rglob("*"))

    def _kernel(self) -> Path:
        """A folder with the kernel, what it needs, and the default store: whatever else is installed is not there."""
        folder = self.path.with_name("kernel")
        if not folder.exists():
            folder.mkdir()
            packages = [name.replace("-", "_") for name in self._ours]
            for name in ("agentm_kernel", *packages, "click", "filelock", "platformdirs", "pluggy"):
                spec = importlib.util.find_spec(name)
                assert spec is not None
                assert spec.origin is not None
                (folder / name).symlink_to(Path(spec.origin).parent)
            for name, package in zip(self._ours, packages, strict=True):
                metadata = Path(str(importlib.metadata.distribution(name).locate_file("")))
                for info in metadata.glob(f"{package}-*.dist-info"):
                    (folder / info.name).symlink_to(info)
        return folder


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
