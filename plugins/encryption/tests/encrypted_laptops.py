"""Devices that encrypt their stores: a home, the commands of agentm, and the store as the configuration has it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from agentm_kernel.cli.app import app
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from click.testing import Result

    from agentm_kernel.plugin import StorageBackend


class Laptop:
    """One device. Several may share a store: a vault folder outside of their homes."""

    def __init__(self, home: Path, vault: Path | None = None) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        self.recovery = home / "recovery.txt"
        if vault is not None:
            vault.mkdir(exist_ok=True)
            self.done("vault", "init", str(vault), "--use")

    def run(self, *arguments: str, text: str | None = None) -> Result:
        before = dict(os.environ)
        os.environ.clear()
        try:
            os.environ.update(self.environ)
            return CliRunner().invoke(app, arguments, input=text)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def done(self, *arguments: str, text: str | None = None) -> str:
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result.output

    def refused(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code != 0, (arguments, result.output)
        return f"{result.output}\n{result.exception}"

    def store(self, *, read_only: bool = False) -> StorageBackend:
        return Device.now(self.environ).store(read_only=read_only)

    def init(self, *more: str) -> str:
        return self.done("encryption", "init", "--recovery-file", str(self.recovery), "--yes", *more)

    @property
    def place(self) -> Path:
        return Path(self.store(read_only=True).describe())

    def status(self) -> dict[str, object]:
        return json.loads(self.run("encryption", "status", "--json").output)

    def fingerprint(self) -> str:
        return str(self.status()["fingerprint"])


def let_in(member: Laptop, other: Laptop, name: str) -> None:
    refusal = other.refused("encryption", "join")
    recipient = refusal.partition("agentm encryption admit ")[2].split()[0]
    member.done("encryption", "admit", recipient, name)
    other.done("encryption", "join", "--fingerprint", member.fingerprint())
