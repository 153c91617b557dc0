"""One user's device: a home, projects, and a store of each kind that routing tells apart."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, ClassVar

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.stubs import LocalStub, SyncedStub
from agentm_kernel import Locator
from agentm_kernel.plugin import StorageSelectionError
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection.identity import record_store, stamp_store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Self

    from agentm_kernel.plugin import StorageBackend


class Remote(MemoryBackend):
    """A synced store that is not files on this host; each bucket lives as long as the test."""

    buckets: ClassVar[dict[str, Remote]] = {}

    @classmethod
    def create(cls, options: Mapping[str, Any], device: object, opening: object) -> Self:
        bucket = cls.buckets.get(options["bucket"]) or cls.buckets.setdefault(options["bucket"], cls(sync=True))
        assert isinstance(bucket, cls)
        return bucket

    is_gone = False

    def check_usable(self, *, read_only: bool) -> None:
        if self.is_gone:
            raise StorageSelectionError("the bucket is gone")


class Device:
    """`state_of` shows the whole of a place, so that a test can tell that nothing else has changed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.store = folder / "store"
        self.projects = folder / "src"
        for made in (self.home, self.projects):
            made.mkdir()

    @property
    def config(self) -> Path:
        return self.home / ".config" / "agentm" / ".agentm-config.json"

    @property
    def state_dir(self) -> Path:
        return self.home / ".local" / "state" / "agentm"

    def configure(self, text: str | None = None, **settings: Any) -> None:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps(settings) if text is None else text)

    def uses(self, protocol: str, **settings: Any) -> None:
        options = {"remote": ("plugins.remote.bucket", "b")}.get(
            protocol, (f"plugins.{protocol}.root", str(self.store))
        )
        self.configure(**{"storage.backend": protocol, options[0]: options[1], **settings})

    def project(self, name: str = "widgets", remote: str | None = None) -> Path:
        """A git work tree, as far as its files are concerned."""
        root = self.projects / name
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        url = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
        (root / ".git" / "config").write_text(f"[core]\n\tbare = false\n{url}")
        return root

    # -- stores ---------------------------------------------------------------------------------------------

    def found_store(self, protocol: str) -> str:
        """Make a store with an identity that this device knows; its id."""
        backend: StorageBackend
        if protocol == "remote":
            Remote.buckets["b"] = backend = Remote(sync=True)
        else:
            self.store.mkdir()
            backend = SyncedStub(self.store)
        store_id = stamp_store(backend)
        record_store(str(self.state_dir), protocol, backend.describe(), store_id)
        return store_id

    def lose_store(self, protocol: str, how: str) -> None:
        """`missing`, `unmounted` (an empty folder is left), or `other` (another store has taken its place)."""
        if protocol == "remote":
            Remote.buckets["b"] = gone = Remote(sync=True)
            gone.is_gone = how == "missing"
            if how == "other":
                stamp_store(gone)
            return
        shutil.rmtree(self.store)
        if how != "missing":
            self.store.mkdir()
        if how == "other":
            stamp_store(SyncedStub(self.store))

    def stored(self, protocol: str) -> dict[str, str]:
        """Everything in the store, but for what the kernel keeps there for itself."""
        store: StorageBackend = Remote.buckets["b"] if protocol == "remote" else SyncedStub(self.store)
        if protocol != "remote" and not self.store.exists():
            return {}
        return {
            info.locator.key: store.read(info.locator)
            for info in store.walk(Locator())
            if not info.is_dir and not info.locator.key.startswith("_meta/")
        }


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    for name in list(os.environ):
        if name.startswith(("XDG_", "GIT_", "AGENTM_")) or name == "MEMORY_VAULT_PATH":
            monkeypatch.delenv(name)
    monkeypatch.setattr(registry, "_classes", {"device-local": LocalStub, "stub": SyncedStub, "remote": Remote})
    monkeypatch.setattr(Remote, "buckets", {})
    made = Device(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.projects)
    return made


@pytest.fixture
def synced(device: Device) -> Device:
    """A device whose store is synced, present and known."""
    device.found_store("stub")
    device.uses("stub")
    return device
