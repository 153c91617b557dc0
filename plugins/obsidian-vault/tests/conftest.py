"""Vaults, devices and commands for the tests of the vault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.selection.stamp import stamp
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def vault(root: Path) -> VaultBackend:
    """A vault that has been set up."""
    store = VaultBackend(root, devices=["hilap"])
    stamp(store)
    return store


_ALLOWED = ["agentm-obsidian-vault", "agentm-device-local"]


class Device:
    """A computer of the operator: a home of its own, and the `agentm` command in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.home.mkdir(parents=True, exist_ok=True)
        prefix = home / ".agentm"
        prefix.mkdir()
        # What else is installed beside the vault is none of these tests' business.
        (prefix / ".agentm-config.json").write_text(json.dumps({"plugin_policy": {"allowed": _ALLOWED}}))
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AGENTM_INSTALL_PREFIX": str(prefix),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "agentm_kernel.cli.main"]

    def agentm(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, code: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run the command; `code` is what it must exit with, `None` for anything."""
        done = subprocess.run(
            [*self.command, *arguments],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=cwd or self.home,
            env=self.environ,
            start_new_session=True,
        )
        assert code is None or done.returncode == code, done
        return done


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path / "home")
