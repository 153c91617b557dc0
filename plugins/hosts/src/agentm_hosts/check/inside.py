"""What happens inside of a check: the stub is started, a note saved, the host connected and run once.

`python -m agentm_hosts.check.inside TASK`, a process of its own, perhaps without any network but loopback.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from typing import Any

from agentm_hosts.check.scratch import Scratch, run, runner_of
from agentm_hosts.check.stub import ModelStub
from agentm_hosts.place import Place

CANARY = "canary-7c1e-heron"
_NOTE = f"The heron pond is served by {CANARY}.\n"
_QUESTION = "What serves the heron pond?"
_UP = 0x1
_SET_FLAGS, _GET_FLAGS = 0x8914, 0x8913


def main(task: dict[str, str]) -> dict[str, Any]:
    _start_loopback()
    folder = task["folder"]
    home, project = os.path.join(folder, "home"), os.path.join(folder, "project")
    os.makedirs(home)
    os.makedirs(os.path.join(project, ".git"))
    with open(os.path.join(project, ".git", "HEAD"), "w", encoding="utf-8") as head:
        head.write("ref: refs/heads/main\n")
    with ModelStub() as stub:
        scratch = Scratch(home, project, stub.url)
        runner = runner_of(task["host"])
        runner.prepare(scratch)
        for arguments, text in (
            (["save", "--kind", "fact", "--slug", "heron"], _NOTE),
            (["connect", task["host"]], ""),
        ):
            problem = _agentm(task["launcher"], arguments, text, scratch)
            if problem:
                return _answer(cannot=problem)
        place = Place(home, scratch.environ(), task["launcher"], os.path.join(home, ".local", "state", "agentm"))
        runner.grant(scratch, place)
        started = time.monotonic()
        ran = run(runner, task["program"], scratch, _QUESTION)
        questions = stub.questions()
        places = [place for request in questions for place in request.places_of(CANARY)]
        first = next((request.moment - started for request in questions if request.places_of(CANARY)), 0.0)
    if not questions:
        why = "took too long" if ran.code is None else f"ended with code {ran.code}"
        last = (ran.output.strip().splitlines() or ["nothing"])[-1]
        return _answer(cannot=f"the program {why} and asked no model; it said: {last[:200]}")
    return _answer(places=list(dict.fromkeys(places)), seconds=round(first, 2), **_settled(task, scratch))


def _answer(**known: Any) -> dict[str, Any]:
    return {"places": [], "receipt": "", "seconds": 0.0, "status": "", "cannot": "", **known}


def _agentm(program: str, arguments: list[str], text: str, scratch: Scratch) -> str:
    done = subprocess.run(  # noqa: S603 - programs that the user has installed
        [program, *arguments],
        cwd=scratch.project,
        env=scratch.environ(),
        input=text,
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    said = done.stderr.strip().splitlines() or ["nothing"]
    return f"`agentm {arguments[0]}` failed in the scratch home: {said[0]}" if done.returncode else ""


def _settled(task: dict[str, str], scratch: Scratch) -> dict[str, str]:
    """What the ledger and the transcript say about the text that the session began with."""
    for _ in range(10):
        done = subprocess.run(  # noqa: S603 - programs that the user has installed
            [task["launcher"], "log", "--json"],
            cwd=scratch.project,
            env=scratch.environ(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        lines = json.loads(done.stdout)["lines"] if done.returncode == 0 else []
        told = [line for line in lines if line["receipt"]]
        if told and told[0]["status"] != "pending":
            break
        time.sleep(0.3)
    return {"receipt": told[0]["receipt"], "status": told[0]["status"]} if told else {"status": "no hook has run"}


def _start_loopback() -> None:
    """In a network of its own, a process finds loopback switched off."""
    if not sys.platform.startswith("linux"):
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(control, _GET_FLAGS, name)[:18])[1]
        if not flags & _UP:
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - the answer to the process that asked
