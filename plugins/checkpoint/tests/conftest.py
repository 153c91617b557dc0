"""Stores, images and a device of their own for every test."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agentm_checkpoint.commands import command
from agentm_checkpoint.image import Image
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.cli.app import app
from agentm_kernel.plugin import Device as ThisDevice, FileStore, Opening
from agentm_kernel.seam.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from click.testing import Result

    from agentm_kernel.plugin import StorageBackend

STORE_ID = "11111111-2222-3333-4444-555555555555"
STAMP = json.dumps({"id": STORE_ID, "created": "2026-01-01T00:00:00+00:00", "layout": 1}) + "\n"

SKILL = "# Deploy\n\n```bash\nmake deploy\n```\n\n## After\n\nRest.\n"

HARD_NOTES = {
    "crlf.md": "one\r\ntwo\r\n",
    "bare-cr.md": "one\rtwo\r",
    "bom.md": "\ufeff# Title\n",
    "empty.md": "",
    "no-newline.md": "the end",
    "zero.md": "a\0b",
    "ünïcode/naïve – ноты/日本語 🧠.md": "\u2028\u2029 ï 🧠\n",
    "same-a.md": "twice\n",
    "same-b.md": "twice\n",
    "/".join(f"d{level}" for level in range(60)) + "/deep.md": "deep\n",
    "long.md": "a long line of a long note\n" * 100_000,
}


class Files(FileStore):
    """A store in a folder, known as protocol `files` in the tests' configuration."""

    self_stamping = True

    def __init__(self, root: str) -> None:
        super().__init__(root, create_root=True)


def fill(store: StorageBackend, notes: Mapping[str, str]) -> None:
    for key, text in notes.items():
        store.write(Locator(key), text)


def many_notes(count: int, seed: int = 1) -> dict[str, str]:
    """Notes as people have them, with the hard cases among them."""
    generator = random.Random(seed)
    notes = dict(HARD_NOTES)
    while len(notes) < count:
        number = len(notes)
        folder = f"projects/p{number % 7}/{('decisions', 'known-issues', 'notes')[number % 3]}"
        lines = "".join(f"- point {generator.random()}\n" for _ in range(generator.randint(0, 20)))
        notes[f"{folder}/note-{number:05}.md"] = f"# Note {number}\n\n{lines}"
    return notes


def contents(store: StorageBackend) -> dict[str, str]:
    return {info.locator.key: store.read(info.locator) for info in store.walk(Locator()) if not info.is_dir}


@pytest.fixture
def hard_notes() -> dict[str, str]:
    return dict(HARD_NOTES)


@pytest.fixture
def make_notes() -> Callable[..., dict[str, str]]:
    return many_notes


@pytest.fixture
def notes_in() -> Callable[[StorageBackend], dict[str, str]]:
    return contents


@pytest.fixture
def write_notes() -> Callable[[StorageBackend, Mapping[str, str]], None]:
    return fill


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = Files(str(tmp_path / "store"))
    fill(made, {"_meta/store.json": STAMP})
    return made


@pytest.fixture
def memory() -> MemoryBackend:
    made = MemoryBackend()
    fill(made, {"_meta/store.json": STAMP})
    return made


@pytest.fixture
def image_file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "image.car"


@pytest.fixture
def open_image(image_file: Path) -> Callable[[], Image]:
    return lambda: Image(str(image_file), STORE_ID)


@pytest.fixture
def context(tmp_path: Path) -> tuple[ThisDevice, Opening]:
    """What a guard is opened with."""
    return ThisDevice({"HOME": str(tmp_path)}), Opening(state_dir=str(tmp_path / "state"))


# ------------------------------------------------------------------------------------------------ a device


@dataclass
class Device:
    """One user's machine: a home, a configuration, a store in a folder, and the command line."""

    home: Path
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.home / "notes"

    @property
    def store(self) -> FileStore:
        """The folder, past every layer: what a stranger's program sees."""
        return Files(str(self.root))

    def configure(self, **settings: Any) -> None:
        self.settings.update({key.replace("__", "."): value for key, value in settings.items()})
        folder = self.home / ".config" / "agentm"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".agentm-config.json").write_text(json.dumps(self.settings))

    def run(self, *arguments: str, code: int = 0, stdin: str = "") -> str:
        """`agentm checkpoint …` in this process; its standard output."""
        result = self.result(*arguments, stdin=stdin)
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout

    def result(self, *arguments: str, stdin: str = "") -> Result:
        # With the settings of `agentm`: click makes the help option of a command once, for whoever asks first.
        return CliRunner().invoke(command, arguments, input=stdin, standalone_mode=False, **app.context_settings)

    def json(self, *arguments: str) -> dict[str, Any]:
        result = self.result(*arguments, "--json")
        assert result.exception is None, result.exception
        return json.loads(result.stdout)

    def script(self, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python in a process of its own, with this device's store registered."""
        return subprocess.run(
            [sys.executable, "-c", self.preamble + dedent(source), *arguments],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def environ(self) -> dict[str, str]:
        kept = ("PATH", "SYSTEMROOT", "COVERAGE_PROCESS_START")
        return {"HOME": str(self.home), **{name: os.environ[name] for name in kept if name in os.environ}}

    @property
    def preamble(self) -> str:
        return dedent("""
            import sys
            from agentm_kernel import Locator, select_backend
            from agentm_kernel.plugin import FileStore, registry
            class Files(FileStore):
                self_stamping = True
                def __init__(self, root):
                    super().__init__(root, create_root=True)
            registry.register("files", Files)
        """)

    def answer(self, *command_line: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Any `agentm` command in a process of its own."""
        return subprocess.run(
            [
                sys.executable,
                "-c",
                self.preamble + "from agentm_kernel.cli.main import main\nsys.exit(main())",
                *command_line,
            ],
            env=self.environ,
            input=stdin,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AGENTM_INSTALL_PREFIX", "MEMORY_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(registry, "_classes", {"files": Files})
    made = Device(home)
    made.configure(storage__backend="files", plugins__files__root=str(made.root))
    fill(made.store, {"_meta/store.json": STAMP})
    return made


@pytest.fixture
def guarded(device: Device) -> Device:
    """A device whose store has the guard on, with one skill that came through agentm."""
    from agentm_kernel import select_backend

    device.configure(wrappers=["integrity"])
    select_backend().write(
        Locator("skills/deploy.md"), "# Deploy\n\n```bash\nmake deploy\n```\n\n## After\n\nRest.\n"
    )
    select_backend().write(Locator("notes/a.md"), "# A\n")
    return device


# ------------------------------------------------------------------------------------------------ a real daemon


@pytest.fixture(scope="session")
def real_daemon() -> Iterator[Any]:
    """A js-ipfs of this worker's own; skipped, or failed where servers are required, if there is none."""
    sys.path.insert(0, str(Path(__file__).parent))  # importlib mode adds nothing itself
    import js_ipfs

    daemon = None
    try:
        js_ipfs.install() if js_ipfs.require() else js_ipfs.check_installed()
        daemon = js_ipfs.JsIpfs()
        daemon.start()
    except js_ipfs.Unavailable as reason:
        if js_ipfs.require():
            pytest.fail(str(reason))
        pytest.skip(str(reason))
    finally:
        sys.path.remove(str(Path(__file__).parent))
    yield daemon
    daemon.stop()
