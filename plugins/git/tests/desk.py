"""A device whose commands run in this process: many answers can be looked at in the time of one start."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from agentm_kernel.cli.app import app
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from click.testing import Result


class Desk:
    """A home with a clone in it, once `init` made it."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.home = home
        self.clone = home / "notes"
        home.mkdir(parents=True)
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **variables}

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

    def answer(self, *arguments: str) -> dict[str, Any]:
        answered: dict[str, Any] = json.loads(self.done(*arguments, "--json"))
        return answered

    def refused(self, *arguments: str) -> str:
        """What the error says, with its hint."""
        result = self.run(*arguments)
        assert result.exit_code != 0, (arguments, result.output)
        return f"{result.output}\n{result.exception}\n{getattr(result.exception, 'hint', '')}"

    def init(self, *arguments: str) -> str:
        return self.done("git", "init", str(self.clone), *arguments, "--use")

    def write(self, name: str, text: str) -> None:
        path = self.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    @property
    def device(self) -> Device:
        return Device.now(self.environ)
