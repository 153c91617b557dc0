from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentm_devkit.conformance.stubs import SyncedStub
from agentm_kernel.seam.registry import registry


@dataclass
class Device:
    """One user's machine: a home, a configuration, and stores that are registered in this process."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def configure(self, **settings: Any) -> None:
        folder = self.home / ".config" / "agentm"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".agentm-config.json").write_text(json.dumps(settings))

    def uses_stub(self, root: Path) -> None:
        self.configure(**{"storage.backend": "stub", "plugins.stub.root": str(root)})

    def files(self) -> set[str]:
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*")}


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return make_device(tmp_path / "home", monkeypatch)


def make_device(home: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AGENTM_INSTALL_PREFIX", "MEMORY_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AGENTM_DEVICE_LOCAL_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(registry, "_classes", {"stub": SyncedStub})
    return Device(home, {"HOME": str(home)})
