"""`python -m tests.packaging.first_minutes`: from nothing to "my agent got my note", with what the README says.

Wheels in a folder stand for the registry; everything else is as a new user has it: an empty home without a git
configuration, no locale, a terminal of 60 columns, and the real Claude Code, whose model is a stub that keeps what it
was asked. The three commands are read from the README. It has to take less than two minutes.
"""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

from tests.packaging.built import REPOSITORY, build
from tests.packaging.environment import Failed
from tests.packaging.installing import User, with_uv

sys.path.insert(0, str(REPOSITORY / "plugins" / "hosts" / "tests"))

import rounds

COLUMNS = 60
SECONDS = 120.0
SAID = f"The lighthouse service is reached through {rounds.MARKER}."


def commands_of_the_readme() -> list[str]:
    """The three commands, without what is said about each."""
    lines = (REPOSITORY / "README.md").read_text().split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("    "))
    return [line.partition("#")[0].strip() for line in lines[first : first + 3]]


class Newcomer(rounds.Round):
    """A round in which nothing is set up for the user."""

    @property
    def environ(self) -> dict[str, str]:
        without = {
            name: value for name, value in super().environ.items() if not name.startswith(("LC_", "LANG", "CI"))
        }
        return {**without, "COLUMNS": str(COLUMNS), "GIT_CONFIG_NOSYSTEM": "1"}

    def type(self, *words: str, answer: str = "") -> str:
        """Run a command on a narrow terminal, answer its question, and give what was shown."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.project)
            os.execve(words[0], list(words), self.environ)
        ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        shown, asked = b"", False
        while select.select([terminal], [], [], 60)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
            if answer and not asked and b"[y/N]" in shown:
                asked = True
                os.write(terminal, answer.encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        text = shown.decode()
        if code:
            raise Failed(f"{' '.join(words)}\n{text}")
        return text

    def look(self) -> str:
        """The first lines of `agentm view`: where the page is."""
        command = [self.agentm, "view", "--no-browser"]
        server = subprocess.Popen(command, cwd=self.project, env=self.environ, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            return "".join(server.stdout.readline() for _ in range(3))
        finally:
            server.terminate()
            server.wait()


def play(folder: Path, dist: Path) -> dict[str, Any]:
    """What a new user does; how long each step took, and every line that was too wide for the terminal."""
    install, setup, view = commands_of_the_readme()
    if (install, setup, view) != ("uv tool install agentm-memory", "agentm setup", "agentm view"):
        raise Failed(f"the README has other commands: {install}; {setup}; {view}")
    began = time.monotonic()
    took: dict[str, float] = {}

    def done(step: str) -> None:
        took[step] = round(time.monotonic() - began - sum(took.values()), 1)

    user = User(folder / "user")
    with_uv(user, dist)
    done(install)
    with Newcomer("claude-code", folder / "round", user.agentm) as it:
        said = it.type(user.agentm, "setup", answer="y\n")
        done(setup)
        if "Claude Code: connected" not in said:
            raise Failed(f"setup did not connect Claude Code:\n{said}")
        said += it.type(user.agentm, "save", SAID)
        done("agentm save")
        ran = it.ask()
        done("a session of Claude Code")
        if not it.reached():
            raise Failed(f"the note is not in the request; Claude Code said: {ran.output[-300:]}")
        report = it.report()
        if (report["told"], report["delivered"]) != (1, 1):
            raise Failed(f"`agentm hosts list` says {report}")
        said += it.type(user.agentm, "hosts", "list") + it.type(user.agentm, "doctor")
        if "http://127.0.0.1" not in (line := it.look()):
            raise Failed(f"`agentm view` says {line!r}")
        done(view)
    seconds = time.monotonic() - began
    if seconds > SECONDS:
        raise Failed(f"it took {seconds:.0f} s: {took}")
    return {"seconds": round(seconds, 1), "steps": took, "shown": said, "wide": too_wide(said)}


def too_wide(text: str) -> list[str]:
    """Lines that do not fit, other than those with a word, a path mostly, that fits nowhere."""
    lines = (re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip("\r") for line in text.split("\n"))
    return [line for line in lines if len(line) > COLUMNS and max(map(len, line.split())) < COLUMNS // 2]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="agentm-first-", ignore_cleanup_errors=True) as base:
        build(Path(base) / "dist")
        try:
            found = play(Path(base), Path(base) / "dist")
        except Failed as failure:
            print(f"FAILED  {failure}")
            return 1
    print(found["shown"])
    print(f"from nothing to a note that Claude Code got: {found['seconds']} s, {found['steps']}")
    for line in found["wide"]:
        print(f"wider than {COLUMNS} columns: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
