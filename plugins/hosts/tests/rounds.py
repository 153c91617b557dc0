"""Rounds with the real programs: a fresh home and project, `agentm setup --yes`, a note, and what reached the model.

`python plugins/hosts/tests/rounds.py --rounds 20` plays each program's round so often, with agentm installed from
wheels in an environment of its own, and prints how many of them arrived and were seen to.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import programs
import tests.node

from agentm_hosts.check.scratch import Ran, Scratch, run, runner_of
from agentm_hosts.check.stub import ModelStub
from agentm_hosts.place import Place

MARKER = "quartz-lantern-4711"
NOTE = f"The lighthouse service is reached through {MARKER}.\n"
QUESTION = "How is the lighthouse service reached?"
SHOWN_SECONDS = 10.0


class Round:
    """One program in a home of its own: `with Round("codex", folder) as it:`."""

    def __init__(self, name: str, folder: Path, agentm: str | None = None) -> None:
        self.name, self.host = name, name.partition("-2.")[0]
        self.program = str(programs.program(name))
        self.agentm = agentm or str(Path(sys.executable).parent / "agentm")
        self.home, self.project = folder / "home", folder / "lighthouse"
        for made in (self.home, self.project, folder / "bin"):
            made.mkdir(parents=True)
        (folder / "bin" / programs.PROGRAMS[name][2]).symlink_to(self.program)
        self._bin = folder / "bin"
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)
        self.stub = ModelStub()
        self.runner = runner_of(self.host)

    def __enter__(self) -> Round:
        self.stub.__enter__()
        self.scratch = Scratch(str(self.home), str(self.project), self.stub.url)
        self.runner.prepare(self.scratch)
        return self

    def __exit__(self, *_: object) -> None:
        self.stub.__exit__()

    @property
    def environ(self) -> dict[str, str]:
        """The user's: with the program on the search path, where `setup` looks for it."""
        environ = self.scratch.environ()
        node = os.path.dirname(tests.node.node() or "")
        return {**environ, "PATH": os.pathsep.join((str(self._bin), environ["PATH"], node))}

    @property
    def place(self) -> Place:
        return Place(str(self.home), self.environ, self.agentm, str(self.home / ".local" / "state" / "agentm"))

    def run_agentm(self, *arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [self.agentm, *arguments],
            cwd=self.project,
            env=self.environ,
            input=text,
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise AssertionError(f"agentm {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def set_up(self, *, trusted: bool = True) -> None:
        self.run_agentm("setup", "--yes")
        if trusted:
            self.runner.grant(self.scratch, self.place)

    def save(self, text: str = NOTE, slug: str = "lighthouse", *more: str) -> None:
        self.run_agentm("save", "--kind", "decision", "--slug", slug, *more, text=text)

    def ask(self, question: str = QUESTION, *extra: str) -> Ran:
        return run(self.runner, self.program, self.scratch, question, *extra)

    def reached(self, text: str = MARKER) -> list[str]:
        """In which messages the model got `text`."""
        return [place for request in self.stub.questions() for place in request.places_of(text)]

    def report(self) -> dict[str, object]:
        """What `agentm hosts list` says about this host, once the background has had time to look."""
        deadline = time.monotonic() + SHOWN_SECONDS
        while True:
            hosts = json.loads(self.run_agentm("hosts", "list", "--json"))["hosts"]
            (found,) = (host for host in hosts if host["host"] == self.host)
            is_settled = found["told"] == found["delivered"] + found["cut"] + found["dropped"]
            if is_settled or time.monotonic() > deadline:
                return found
            time.sleep(0.2)


def play(name: str, folder: Path, agentm: str | None = None) -> str:
    """One round; what went wrong, or nothing."""
    with Round(name, folder, agentm) as it:
        it.set_up()
        it.save()
        ran = it.ask()
        if not it.reached():
            return f"the marker is not in the request; the program said: {ran.output[-300:]}"
        report = it.report()
        wanted = (0, 0, 1) if it.host == "copilot" else (1, 1, 0)  # Copilot does not write down how a session starts
        if (report["told"], report["delivered"], report["unseen"]) != wanted:
            return f"{report['delivered']} of {report['told']} delivered, {report['unseen']} unseen"
    return ""


def _wheels(folder: Path) -> str:
    """agentm as users have it."""
    from tests.benchmarks.installed import Installed

    return Installed(folder, ("agentm-device-local", "agentm-recall", "agentm-mcp", "agentm-hosts")).agentm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", action="append", choices=sorted(programs.PROGRAMS))
    chosen = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="agentm-rounds-", ignore_cleanup_errors=True) as base:
        agentm = _wheels(Path(base) / "wheels")
        for name in chosen.only or programs.PROGRAMS:
            rounds = min(chosen.rounds, 5) if name == "copilot" else chosen.rounds
            started, wrong = time.monotonic(), []
            for number in range(rounds):
                folder = Path(base) / f"{name}-{number}"
                problem = play(name, folder, agentm)
                wrong += [problem] if problem else []
                shutil.rmtree(folder, ignore_errors=True)
            seconds = (time.monotonic() - started) / rounds
            print(
                f"{name}: {rounds - len(wrong)} of {rounds} arrived and were seen to, {seconds:.1f} s each",
                flush=True,
            )
            for problem in dict.fromkeys(wrong):
                print(f"  {problem}", flush=True)
            failed += len(wrong)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
