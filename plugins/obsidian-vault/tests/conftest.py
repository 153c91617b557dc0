"""Vaults, devices and commands for the tests of the vault."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(
    1, os.path.abspath(os.path.join(__file__, "..", "..", "..", ".."))
)  # for what all stores' tests share

from agentm_kernel.plugin import stamp_store
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
    stamp_store(store)
    return store


_ALLOWED = ["agentm-obsidian-vault", "agentm-device-local", "agentm-import"]


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

    @property
    def project(self) -> Path:
        """A folder that a project can be in: the home is none."""
        folder = self.home / "widgets"
        (folder / ".harness").mkdir(parents=True, exist_ok=True)
        return folder

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

    def talk(self, arguments: list[str], *conversation: tuple[str, str]) -> tuple[str, int]:
        """Run the command on a terminal, answering each prompt; what was on the screen, and the exit code."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.home)
            os.execve(self.command[0], [*self.command, *arguments], self.environ)
        screen = ""
        pending = list(conversation)
        deadline = time.monotonic() + 60
        try:
            while time.monotonic() < deadline:
                if pending and pending[0][0] in screen:
                    os.write(terminal, f"{pending.pop(0)[1]}\n".encode())
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        screen += os.read(terminal, 65536).decode(errors="replace")
                    except OSError:  # the other end is closed
                        break
        finally:
            os.close(terminal)
        return screen.replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path / "home")
