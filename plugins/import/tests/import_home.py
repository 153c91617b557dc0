"""A home with a project in it, the real command, and what lies below a folder: what the tests of importing share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from agentm_import.contract import find_importer
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from pathlib import Path

START = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


class Home:
    """An empty home with a project in it and the default store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "widgets"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/widgets.git\n')
        self.root = path / ".agentm" / "memory"
        self.environ = {"HOME": str(path), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}

    def device(self) -> Device:
        return Device.now(self.environ)

    def run(self, *arguments: str, input: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """The real command in a process of its own."""
        return subprocess.run(
            [sys.executable, "-c", START, *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            cwd=self.project,
            env={**self.environ, **environ},
        )

    def json(self, *arguments: str, code: int | None = 0, **environ: str) -> dict[str, Any]:
        done = self.run(*arguments, "--json", **environ)
        assert code is None or done.returncode == code, done.stderr + done.stdout
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def notes(self) -> dict[str, str]:
        """Every note of the store."""
        return {
            str(file.relative_to(self.root)): file.read_bytes().decode()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not file.relative_to(self.root).parts[0].startswith(("_meta", "."))
        }


def snapshot(*roots: Path) -> dict[str, tuple[object, ...]]:
    """Everything below the roots: what it is, its content, and each of its times but that of access."""
    found: dict[str, tuple[object, ...]] = {}
    for root in roots:
        for path in [root, *sorted(root.rglob("*"))] if root.is_dir() else [root]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, content)
    return found


CHANGED = "2026-08-01T10:00:00+00:00"
"""When every file of `write_source` was changed, as notes spell it."""


def write_source(root: Path, files: dict[str, str]) -> Path:
    """The files below `root`, all of them changed at one known moment."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_785_578_400, 1_785_578_400))
    return root


def read_source(home: Home, source: str, path: Path | str = "", **environ: str) -> dict[str, object]:
    """Everything that the reader of a source yields, by origin, in its order."""
    device = Device.now({**home.environ, **environ})
    found = list(find_importer(device, source).read(str(path), device))
    by_origin = {one.origin: one for one in found}
    assert len(by_origin) == len(found), "an origin is the name of one thing"
    return by_origin


def detected(home: Home, source: str, **environ: str) -> list[tuple[object, ...]]:
    """What the reader of a source says of this device."""
    device = Device.now({**home.environ, **environ})
    return [tuple(place) for place in find_importer(device, source).detect(device)]
