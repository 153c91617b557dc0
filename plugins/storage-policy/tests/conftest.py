"""Workspaces, hosts and a store with an origin, for the tests of storage policies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from agentm_kernel import Locator
from agentm_kernel.plugin import Device, FileStore, Opening, StorageConflictError, SyncOutcome, WorkingCopy
from agentm_kernel.seam.locator import TEMP_PREFIX
from agentm_kernel.seam.registry import registry as kernel_registry
from agentm_storage_policy.handle import define_storage, load_storage
from agentm_storage_policy.registry import register_provider, unregister_provider

DOCUMENTS = Path(__file__).with_name("documents")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "rule(number, outcome): the test shows what is accepted or refused under a rule of the specification",
    )


# ------------------------------------------------------------------------------------------------ workspaces


class Desk:
    """A folder with workspaces, and one device that uses them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "work" / "handbook"
        self.root.mkdir(parents=True)
        self.options: dict[str, object] = {"user": "ana"}
        self.environ: dict[str, str] = {"HOME": str(home)}
        self.read_only = False

    @property
    def state(self) -> Path:
        return Path(self.device.state_dir)

    @property
    def device(self) -> Device:
        return Device(self.environ)

    @property
    def opening(self) -> Opening:
        return Opening(read_only=self.read_only, state_dir=str(self.state))

    def write(self, name: str, front: str, folder: Path | None = None) -> Path:
        """A document of the workspace, from its front matter."""
        path = (folder or self.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{front.strip()}\n---\n")
        return path

    def policy(self, front: str, name: str = "STORAGE.md"):
        """A handle of a policy in the workspace."""
        return load_storage(self.write(name, front), providers=["mirror", "recorder"])

    def open(self, front: str):
        """The store of a policy, opened on this device."""
        return self.policy(front).open(self.device, self.options, self.opening)

    def audit(self) -> list[dict]:
        """Everything in the audit log."""
        path = self.state / "audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def everything_written(self) -> str:
        """The content of every file that this device keeps, names included."""
        files = [path for path in self.state.rglob("*") if path.is_file()]
        return "\n".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in files)


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Desk:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENTM_INSTALL_PREFIX", "MEMORY_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(kernel_registry, "_classes", {})
    return Desk(tmp_path)


# ------------------------------------------------------------------------------------------------ providers


class Mirror(FileStore, WorkingCopy):
    """A working copy with an origin: three folders, `copy`, `committed` and `origin`, below one place."""

    def __init__(self, place: str, context) -> None:
        super().__init__(os.path.join(place, "copy"), create_root=True)
        self.place = Path(place)
        self.context = context
        self.log: list[tuple[object, ...]] = []
        self.failing: set[str] = set()

    self_stamping = True

    def tree(self, name: str) -> dict[str, str]:
        root = self.place / name
        files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith(TEMP_PREFIX)]
        return {str(path.relative_to(root)): path.read_text() for path in files}

    def _replace(self, name: str, tree: dict[str, str]) -> None:
        root = self.place / name
        for key in self.tree(name):
            (root / key).unlink()
        for key, text in tree.items():
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_text(text)

    def _mirrored(self) -> dict[str, str]:
        return {key: text for key, text in self.tree("copy").items() if not self.context.is_excluded(key)}

    def _fail(self, step: str) -> None:
        if step in self.failing:
            raise ConnectionError(f"the {step} broke off")

    def has_changes(self) -> bool:
        return self._mirrored() != self.tree("committed")

    def pull(self, trigger) -> SyncOutcome:
        self.log.append(("pull", trigger.event))
        self._fail("pull")
        origin = self.tree("origin")
        if origin == self.tree("committed"):
            return SyncOutcome(False)
        self._replace("committed", origin)
        self._replace("copy", {**self.tree("copy"), **origin})
        return SyncOutcome(True, ref="origin")

    def commit(self, message, authors, trigger) -> SyncOutcome:
        self.log.append(("commit", message, [str(author) for author in authors], trigger.event))
        self._fail("commit")
        if not self.has_changes():
            return SyncOutcome(False)
        self._replace("committed", self._mirrored())
        return SyncOutcome(True, ref="c1")

    def push(self, trigger) -> SyncOutcome:
        self.log.append(("push", trigger.event, trigger.conversation))
        self._fail("push")
        if "somebody-else.md" in self.tree("origin") and self.context.rules.conflict_policy == "abort":
            raise StorageConflictError("the origin has moved on")
        if self.tree("origin") == self.tree("committed"):
            return SyncOutcome(False)
        self._replace("origin", self.tree("committed"))
        return SyncOutcome(True, ref="c1", url="https://example.com/pr/1")

    @property
    def steps(self) -> list[object]:
        return [entry[0] for entry in self.log]


class Recorder(FileStore):
    """A canonical store that counts how often it is reached, and keeps what it was opened with."""

    self_stamping = True

    def __init__(self, root: str) -> None:
        super().__init__(root, create_root=True)
        self.calls: list[str] = []

    def __getattribute__(self, name: str):
        if name in (
            "read",
            "write",
            "list",
            "exists",
            "info",
            "mkdir",
            "delete",
            "walk",
            "stamp_text",
            "device_path",
        ):
            object.__getattribute__(self, "calls").append(name)
        return object.__getattribute__(self, name)


@pytest.fixture
def mirrors():
    """The provider `mirror`, and every store that it opened."""
    opened: list[Mirror] = []

    def open_mirror(config, credentials, context):
        opened.append(Mirror(config["place"], context))
        return opened[-1]

    register_provider("mirror", open_mirror)
    yield opened
    unregister_provider("mirror")


@pytest.fixture
def recorders():
    """The provider `recorder`, and (store, config, credentials, context) of everything that it opened."""
    opened: list[tuple[Recorder, dict, object, object]] = []

    def open_recorder(config, credentials, context):
        opened.append((Recorder(config["place"]), config, credentials, context))
        return opened[-1][0]

    register_provider("recorder", open_recorder)
    yield opened
    unregister_provider("recorder")


@pytest.fixture
def defined(desk):
    """`define_storage` in the workspace of the desk, with its extra providers."""
    return lambda definition: define_storage(definition, root=str(desk.root), providers=["mirror", "recorder"])


# ------------------------------------------------------------------------------------------------ commands


class Laptop:
    """A home of its own and the `agentm` command in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "AGENTM_PATIENCE": "30",
            "HOME": str(home),
            "USER": "ana",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }

    def agentm(self, *arguments: str, stdin: str = "", code: int | None = 0, **environ: str):
        done = subprocess.run(
            [sys.executable, "-m", "agentm_kernel.cli.main", *arguments],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.home,
            env={**self.environ, **environ},
            start_new_session=True,
        )
        assert code is None or done.returncode == code, done
        return done


@pytest.fixture
def device(tmp_path) -> Laptop:
    return Laptop(tmp_path / "home")


NOTE = Locator("plan.md")


@pytest.fixture
def note() -> Locator:
    return NOTE
