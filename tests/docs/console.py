"""Console sessions in the documentation: found, run for real, and held against what the page says.

A fenced block marked `console` is a session. A line that begins with `$ ` is a command, lines that begin with `> ` go
on with it, the rest is what it prints; `...` stands for anything. All sessions of a page run in one shell, one after
the other, in a home of their own that the page calls `/home/ana`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOME_ON_THE_PAGE = "/home/ana"
_FENCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ANYTHING = re.compile(r"\A\.\.\.\n|\n\.\.\.(?=\n|$)|\.\.\.")  # lines of dots first: the line before may end in one
_MARK = "--- end of step"


@dataclass
class Step:
    """One command of a page and what the page says it prints."""

    command: str
    expected: str

    @property
    def may_fail(self) -> bool:
        """A page that shows an error means the command to fail."""
        return any(line.startswith(("error:", "FAIL")) for line in self.expected.splitlines())


def steps_of(page: str) -> list[Step]:
    steps: list[Step] = []
    for session in _FENCE.findall(page):
        for line in session.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:], ""))
            elif line.startswith("> ") or line == ">":
                steps[-1].command += "\n" + line[2:]
            else:
                steps[-1].expected += line + "\n"
    return steps


def run(steps: list[Step], home: Path) -> list[tuple[int, str]]:
    """The exit code and the output of every step, with the scratch home named as the page names it."""
    script = "".join(f'{step.command}\nstatus=$?; echo; echo "{_MARK} $status"\n' for step in steps)
    path = os.pathsep.join((os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"))
    shell = subprocess.run(
        ["bash"],
        input=script,
        cwd=home,
        env={
            "HOME": str(home),
            "PATH": path,
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "TERM": "dumb",
            "AGENTM_PATIENCE": "30",  # what a page says does not depend on how busy the machine is
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    results = []
    output = ""
    for line in shell.stdout.splitlines(keepends=True):
        if line.startswith(_MARK):
            results.append(
                (int(line.rsplit(maxsplit=1)[-1]), output.rstrip("\n").replace(str(home), HOME_ON_THE_PAGE))
            )
            output = ""
        else:
            output += line
    return results


def matches(expected: str, actual: str) -> bool:
    """`...` stands for anything; on a line of its own, for any number of lines, none included."""
    parts = _ANYTHING.split(expected.rstrip("\n"))
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, actual.rstrip("\n"), re.DOTALL) is not None
