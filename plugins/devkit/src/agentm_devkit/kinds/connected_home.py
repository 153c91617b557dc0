"""A scratch home in which an adapter's host is connected and disconnected, by the commands that users run."""

from __future__ import annotations

import contextlib
import io
import json
import os
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation, shown
from agentm_kernel.plugin import Device, load_plugin

if TYPE_CHECKING:
    from agentm_devkit.kinds.checking import Specimen

_COMMANDS = "agentm.commands"
_NOT_THE_HOSTS = (".state", ".cache", "bin")


class ConnectedHome:
    """The home of a specimen. The search path has no program but `agentm`: the real host is not asked anything."""

    def __init__(self, specimen: Specimen) -> None:
        self._host, self._home = specimen.record.name, specimen.home
        programs = os.path.join(self._home, "bin")
        os.mkdir(programs)
        with open(os.path.join(programs, "agentm"), "w", encoding="utf-8") as program:
            os.chmod(program.fileno(), 0o700)
        self._device = Device({**specimen.device.environ, "PATH": programs})
        if not any(record.name == "connect" for record in self._device.plugins.of(_COMMANDS)):
            raise NotApplicable("agentm-hosts, which connects hosts, is not installed")

    def connects_and_back(self, files: dict[str, str]) -> list[str]:
        """Connect where these files are, and disconnect; the files that held something of ours in between."""
        self._make(files)
        before = self._files()
        done = self._run("connect")
        if error := done.get("error"):
            if files and self._files() == before:
                return []  # a file that is the adapter's as a whole is not taken from the user
            raise Violation(f"connecting failed: {error}")
        between = self._files()
        self._run("connect")
        if self._files() != between:
            raise Violation(f"connecting a second time changed {shown(_differing(between, self._files())[0])}")
        self._run("disconnect")
        after = self._files()
        if after != before:
            changed = _differing(before, after)[0]
            raise Violation(f"after connecting and disconnecting, {shown(changed)} was not what it was before")
        for path in files:
            os.unlink(os.path.join(self._home, path))
        return _differing(before, between)

    def _run(self, verb: str) -> dict[str, Any]:
        command: Any = load_plugin(self._device, _COMMANDS, verb)
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            command.main(args=[self._host, "--json"], obj=self._device, standalone_mode=False)
        (answer,) = json.loads(said.getvalue())["hosts"]
        return dict(answer)

    def _make(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            whole = os.path.join(self._home, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)

    def _files(self) -> dict[str, bytes]:
        """Every file below the home, but for ours."""
        found = {}
        for parent, folders, files in os.walk(self._home):
            if parent == self._home:
                folders[:] = [folder for folder in folders if folder not in _NOT_THE_HOSTS]
            for name in files:
                with open(os.path.join(parent, name), "rb") as file:
                    found[os.path.relpath(os.path.join(parent, name), self._home)] = file.read()
        return found


def _differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
