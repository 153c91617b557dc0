"""A machine with a home, a project and perhaps a synced store, and `agentm` on it.

`run` calls the command in this process, which is fast; `start` and `execute` run it as a host would, with nothing
installed but the kernel, what it needs, the default store and what a test adds.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import filelock
import platformdirs
import pluggy
import pytest

import agentm_devkit
import agentm_kernel
from agentm_devkit.conformance.stubs import LocalStub, SyncedStub
from agentm_kernel.cli import exit_code_of
from agentm_kernel.cli.app import run as run_click
from agentm_kernel.plugin import Device
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection.identity import record_store, stamp_store

if TYPE_CHECKING:
    from typing import Any

# As `SyncedStub` and `LocalStub`, without the kit that these come with: hooks are held to what they import.
STUB_PLUGIN = """
from agentm_kernel.plugin import Capabilities, FileStore

class Store(FileStore):
    @property
    def capabilities(self):
        return Capabilities(concurrent_writers=True, sync=True, device_files=True, delete=True)
"""


DEFAULT_STORE = """
import os
from agentm_kernel.plugin import FileStore

class Store(FileStore):
    self_stamping = True

    @classmethod
    def create(cls, options, device, opening):
        return cls(options.get("root") or os.path.join(device.home, "memory"), create_root=True, private=True)
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Machine:
    """Everything that a test writes lies below `folder`."""

    def __init__(
        self, folder: Path, library: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self._patch = patch
        self._capture = capture
        self.folder = folder
        self.home = folder / "home"
        self.site = folder / "site"
        self.store = folder / "store"
        self.project = folder / "src" / "widgets"
        self.harness = self.project / ".harness"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join((str(self.site), str(library))),
            "PYTHONPYCACHEPREFIX": str(library / "bytecode"),  # compiling it all again takes most of the time
        }
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        for made in (self.home, self.site):
            made.mkdir()

    # -- what is there --------------------------------------------------------------------------------------

    def configure(self, **settings: Any) -> None:
        folder = self.home / ".config" / "agentm"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".agentm-config.json").write_text(json.dumps(settings))

    def install(self, name: str, source: str, entry_points: str) -> None:
        """A distribution with one module, `plugin_<name>`."""
        info = self.site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (self.site / f"plugin_{name}.py").write_text(source)

    def use_synced_store(self) -> None:
        """Install the plugin, set up its store, and configure it."""
        self.install("stub", STUB_PLUGIN, "[agentm.backends]\nstub = plugin_stub:Store\n")
        self.store.mkdir()
        backend = SyncedStub(self.store)
        record_store(str(self.home / ".local" / "state" / "agentm"), "stub", str(self.store), stamp_store(backend))
        self.configure(**{"storage.backend": "stub", "plugins.stub.root": str(self.store)})

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """Every name below the folder, with what would change if somebody wrote there."""
        return {
            str(path): (status.st_mode, status.st_mtime_ns, status.st_ino, path.is_file() and path.read_bytes())
            for path in sorted(self.folder.rglob("*"))
            for status in (path.lstat(),)
        }

    # -- what is done ---------------------------------------------------------------------------------------

    def run(self, *arguments: str, input: str | bytes = "", cwd: Path | None = None) -> Outcome:
        """What click does with the arguments."""
        data = input.encode() if isinstance(input, str) else input
        with self._patch.context() as patch:
            for name in [*os.environ]:
                patch.delenv(name)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            patch.chdir(cwd or self.project)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
            patch.setattr(registry, "_classes", {"stub": SyncedStub, "device-local": LocalStub})
            code = exit_code_of(lambda: run_click(Device.now(), [*arguments]), as_json="--json" in arguments)
        return Outcome(code, *self._capture.readouterr())

    def start(
        self, *arguments: str, program: str = "agentm_kernel.cli.main", **options: Any
    ) -> subprocess.Popen[bytes]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"cwd": self.project, "env": self.environ, **streams, **options}
        how = [program] if program.endswith(".py") else ["-m", program]
        return subprocess.Popen([sys.executable, "-P", "-S", *how, *arguments], **options)

    def execute(self, *arguments: str, input: str | bytes | None = None, **options: Any) -> Outcome:
        """The command as a process, to its end."""
        data = input.encode() if isinstance(input, str) else input
        if data is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(data, timeout=60)
        return Outcome(process.returncode, (out or b"").decode(), (err or b"").decode())


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is installed: other distributions that this environment may have are none of these tests' business."""
    folder = tmp_path_factory.mktemp("library")
    # Of the devkit its stubs are importable; without its metadata it is not installed.
    for package in (agentm_kernel, agentm_devkit, click, filelock, platformdirs, pluggy):
        home = Path(package.__file__).parent
        (folder / home.name).symlink_to(home, target_is_directory=True)
    info = folder / "default_store-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[agentm.backends]\ndevice-local = default_store:Store\n")
    (folder / "default_store.py").write_text(DEFAULT_STORE)
    _compile(folder)
    return folder


def _compile(library: Path) -> None:
    """Have it compiled before a hook with a deadline needs it: on a busy machine that takes seconds."""
    environ = {"PYTHONPATH": str(library), "PYTHONPYCACHEPREFIX": str(library / "bytecode")}
    ours = ", ".join(f"agentm_kernel.{name}" for name in ("cli.hook", "cli.session_text", "cli.app", "plugins.hooks"))
    modules = f"{ours}, pluggy, json"
    command = [sys.executable, "-P", "-S", "-c", f"import {modules}, agentm_devkit.conformance.stubs"]
    subprocess.run(command, env=environ, check=True, timeout=120)


@pytest.fixture
def machine(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Machine:
    return Machine(tmp_path, library, monkeypatch, capfd)


@pytest.fixture
def synced(machine: Machine) -> Machine:
    machine.use_synced_store()
    return machine
