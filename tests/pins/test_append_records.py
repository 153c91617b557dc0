"""What a device records of its appends lies in its own state folder, whatever the process's environment says."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_device_local import DeviceLocalBackend
from agentm_git.backend import GitStore
from agentm_kernel import Locator
from agentm_kernel.plugin import Device, FileStore, Opening
from agentm_kernel.state.files import append_state_file
from agentm_kernel.state.routing import route
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    from pathlib import Path

NOTE = Locator("notes/plan.md")


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """One with a home of its own, as a scratch store has."""
    return Device({"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]})


@pytest.fixture(autouse=True)
def state_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "process"))
    return tmp_path / "process" / "agentm" / "appends"


@pytest.mark.parametrize(
    ("kind", "option"), [(DeviceLocalBackend, "root"), (VaultBackend, "vault_path"), (GitStore, "root")]
)
def test_a_store_records_where_its_device_does(
    tmp_path: Path, device: Device, state_of_the_process: Path, kind: type[FileStore], option: str
) -> None:
    root = tmp_path / "store"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    store = kind.create({option: str(root)}, device, Opening(state_dir=device.state_dir))
    store.write(NOTE, "one\n")
    store.append(NOTE, "two\n")
    assert store.read(NOTE) == "one\ntwo\n"
    assert os.listdir(os.path.join(device.state_dir, "appends"))
    assert not state_of_the_process.exists()


def test_state_in_a_checkout_is_recorded_there(tmp_path: Path, device: Device, state_of_the_process: Path) -> None:
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    resolution = route(device, str(checkout), read_only=False)
    for line in ("one\n", "two\n"):
        append_state_file(resolution, "progress.md", line)
    assert (checkout / ".harness" / "progress.md").read_text().endswith("one\ntwo\n")
    assert os.listdir(os.path.join(device.state_dir, "appends"))
    assert not state_of_the_process.exists()
