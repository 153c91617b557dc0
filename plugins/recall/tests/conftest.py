from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.cli.app import run
from agentm_kernel.cli.main import exit_code_of
from agentm_kernel.files.store import FileStore
from agentm_kernel.plugin import Device, StorageBackend

sys.path.insert(0, str(Path(__file__).parent))  # the samples beside the tests; importlib mode adds nothing itself

from widgets import STAMP


class Home:
    """An empty home, with a project in it and a store that the kernel selects by itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "widgets"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/widgets.git\n')
        self.root = path / ".agentm" / "memory"
        self.environ = {"HOME": str(path), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}

    def note(self, key: str, text: str | bytes) -> Path:
        """A note that somebody else wrote, long ago; those of the project here were written from a clone of it."""
        file = self.root / key
        file.parent.mkdir(parents=True, exist_ok=True)
        if key.startswith("projects/widgets/"):
            record = '{"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}\n'
            (self.root / "projects" / "widgets" / "_project.json").write_text(record)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(file, (1_700_000_000, 1_700_000_000))
        return file

    def stamp(self) -> None:
        self.note("_meta/store.json", STAMP)

    def index_file(self) -> Path:
        return self.path / ".cache/agentm/stores/4f1c0b52-test/local-index/notes-3.sqlite3"

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Every file below the home, with its time and content."""
        return {
            str(file.relative_to(self.path)): (file.stat().st_mtime_ns, file.read_bytes())
            for file in sorted(self.path.rglob("*"))
            if file.is_file()
        }

    def run(self, *arguments: str, input: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """The real command in a process of its own."""
        return subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from agentm_kernel.cli.main import main; sys.exit(main())",
                *arguments,
            ],
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.project,
            env={**self.environ, **environ},
        )

    def detached(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same in a session without a terminal, as agents run commands."""
        program = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.project,
            env=self.environ,
            start_new_session=True,
        )


class Terminal:
    """`agentm …` in this process: much faster than a new one, and the same code."""

    def __init__(
        self, home: Home, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.home = home
        self.err = ""
        self._capture = capfdbinary
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(home.project)

    def __call__(self, *arguments: str, text: str = "", code: int = 0) -> str:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
        self._monkeypatch.setattr(sys, "stdin", stdin)
        result = exit_code_of(lambda: run(Device.now(), list(arguments)))
        out, err = self._capture.readouterr()
        self.err = err.decode()
        assert result == code, self.err
        return out.decode()

    def json(self, *arguments: str, text: str = "") -> Any:
        return json.loads(self(*arguments, "--json", text=text))


@pytest.fixture
def agentm(home: Home, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(home, capfdbinary, monkeypatch)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home of this process too, so that nothing of the real one is seen."""
    path = tmp_path / "home"
    path.mkdir()
    for name in [name for name in os.environ if name.startswith(("XDG_", "AGENTM_", "MEMORY_", "HARNESS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(path))
    return Home(path)


@pytest.fixture
def store(home: Home) -> FileStore:
    """The default store of that home, with an identity."""
    home.stamp()
    return FileStore(home.root, create_root=True)


@pytest.fixture(params=["files", "memory"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> StorageBackend:
    return FileStore(tmp_path / "store", create_root=True) if request.param == "files" else MemoryBackend()
