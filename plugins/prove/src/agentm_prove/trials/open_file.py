"""A shell holds a note open and adds lines with `>>`, while agentm replaces that note under it."""

from __future__ import annotations

import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken, NotTried

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory
    from agentm_prove.worker_handle import Worker

LINES = 20
_NOTE = "progress.md"
_PROGRAM = 'exec 3>>"$0"; while read -r line; do echo "$line" >&3; done'
_GRACE = 2.3
"""Seconds after which a version that was replaced is looked at for the last time, and a little more."""
_LOOKS = 2


def run(laboratory: Laboratory) -> str:
    shell = shutil.which("sh")
    if shell is None:
        raise NotTried("there is no shell on this system")
    worker = laboratory.fresh().opened()
    worker.ask("write", key=_NOTE, text="begin\n")
    path = worker.ask("file_of", key=_NOTE)
    program = subprocess.Popen(  # noqa: S603 - a shell with a program of ours
        [shell, "-c", _PROGRAM, path], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert program.stdin is not None
    try:
        for number in range(LINES):
            program.stdin.write(f"shell line {number}\n".encode())
            program.stdin.flush()
            worker.ask("add_lines" if number % 2 else "append_lines", key=_NOTE, lines=[f"agentm line {number}"])
    finally:
        program.stdin.close()
        program.wait()
    wanted = {f"{who} line {number}" for who in ("shell", "agentm") for number in range(LINES)} | {"begin"}
    lines = _settled(worker, wanted)
    if glued := [line for line in lines if line and line not in wanted and not line.startswith("look ")]:
        raise Broken(f"half a line was glued to another: {glued[0]!r}")
    if lost := sorted(wanted - set(lines)):
        raise Broken(f"{len(lost)} of {len(wanted)} lines are lost, among them {lost[0]!r}")
    return f"{LINES} lines of a shell and {LINES} of agentm went into one note: all are in it, or in a listed copy"


def _settled(worker: Worker, wanted: set[str]) -> list[str]:
    """Every line of the store, once agentm has written again and looked at what the shell had open."""
    lines: list[str] = []
    for look in range(_LOOKS):
        worker.ask("add_lines", key=_NOTE, lines=[f"look {look}"])
        lines = worker.ask("everything").splitlines()
        if wanted <= set(lines):
            break
        time.sleep(_GRACE)
    return lines
