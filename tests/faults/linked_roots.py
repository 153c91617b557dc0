"""A checkout whose `.harness` is swapped for a link to another project's, as fast as the system can, all the time.

A cloned repository can bring such a link. Whoever looks at the name first and opens it then loses this race. No plan
of the other project may be read, and no file of it changed, by anything that reads or writes a project's state.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentm_kernel import AgentmError, read_state_file, resolve_project, update_state_file, write_state_file
from agentm_kernel.files.store import FileStore
from agentm_kernel.projects import HARNESS_DIR
from agentm_kernel.projects.claiming import declare_slug
from agentm_kernel.state import files
from agentm_kernel.state.files import append_state_file
from tests.faults.confinement import Seen, _swap
from tests.faults.controls import until_caught
from tests.faults.harness import Intensity, Outcome, scratch
from tests.faults.workers import HANG, Crew, Stuck, start_together, wait_for_start

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from multiprocessing.connection import Connection

    from agentm_kernel.plugin import Resolution

THEIRS = "the plan of another project\n"
OURS = "- ours\n"
WORKERS = 3
NAMES = ("PLAN.md", "progress.md")


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("swaps of a checkout's folder and a link to another project's")
    _race(outcome, intensity.pick(short=3_000, full=300_000), intensity.pick(short=1, full=15), guarded=True)
    outcome.control("a look at the name before it is opened", until_caught(lambda broken: _race(broken, 3_000, 1)))
    return outcome


def _race(outcome: Outcome, swaps: int, seconds: int, *, guarded: bool = False) -> None:
    with scratch() as base, Crew() as crew:
        checkout, other = os.path.join(base, "widgets"), os.path.join(base, "other")
        for folder in (os.path.join(checkout, HARNESS_DIR), os.path.join(other, HARNESS_DIR)):
            os.makedirs(folder)
        for name in NAMES:
            Path(other, HARNESS_DIR, name).write_text(THEIRS)
        os.symlink(os.path.join(other, HARNESS_DIR), os.path.join(checkout, "trap"))
        Path(base, ".agentm-config.json").write_text('{"state_mode": "local"}')
        attacker = crew.start(_swap_for_ever, checkout, swaps, seconds)
        workers = [crew.start(_use, base, checkout, guarded, number) for number in range(WORKERS)]
        start_together([attacker, *workers])
        try:
            outcome.count += attacker.receive(seconds + 20 * HANG)
            for worker in workers:
                worker.tell()
            seen = [worker.receive() for worker in workers]
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))
            return
        found = {path.name: path.read_text() for path in Path(other, HARNESS_DIR).iterdir()}
        if found != dict.fromkeys(NAMES, THEIRS):
            outcome.violation("escape", f"the other project's state is {found} now")
    for worker in seen:
        for kind, example in worker.problems:
            outcome.violation(kind, example)
        outcome.measured["verbs done"] = outcome.measured.get("verbs done", 0) + worker.answers["done"]
        outcome.measured["refused"] = outcome.measured.get("refused", 0) + worker.answers["refused"]


def _swap_for_ever(connection: Connection, checkout: str, swaps: int, seconds: int) -> None:
    descriptor = os.open(checkout, os.O_RDONLY)
    wait_for_start(connection)
    deadline, done = time.monotonic() + seconds, 0
    while done < swaps or time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            _swap(descriptor, HARNESS_DIR, "trap")
            done += 1
    connection.send(done)


VERBS: dict[str, Callable[[Resolution, str], object]] = {
    "write": lambda here, name: write_state_file(here, name, OURS),
    "update": lambda here, name: update_state_file(here, name, lambda text: _checked(text) + OURS),
    "append": lambda here, name: append_state_file(here, name, OURS),
    "name": lambda here, name: declare_slug(here.root, "widgets"),
    "read": lambda here, name: _checked(read_state_file(here, name)),
}


class Escaped(Exception):
    """The other project's plan was read."""


def _checked(text: str | None) -> str:
    if text is not None and THEIRS in text:
        raise Escaped
    return ""


def _use(connection: Connection, base: str, checkout: str, guarded: bool, number: int) -> None:
    """The control opens the folder by its name, which was looked at a moment before."""
    draw, seen = random.Random(number), Seen()
    os.environ.update(HOME=base, XDG_STATE_HOME=os.path.join(base, "state"), AGENTM_INSTALL_PREFIX=base)
    build: AbstractContextManager[Any] = nullcontext() if guarded else mock.patch.object(files, "FileStore", _ByName)
    here = resolve_project({"cwd": checkout})
    wait_for_start(connection)
    with build:
        while not connection.poll():
            verb, name = draw.choice([*VERBS]), draw.choice(NAMES)
            try:
                VERBS[verb](here, name)
                seen.answers["done"] += 1
            except AgentmError:
                seen.answers["refused"] += 1
            except Escaped:
                seen.problems.append(("escape", f"{verb} of {name} read the other project's"))
            except Exception as error:
                seen.problems.append(("untyped", f"{verb} of {name}: {error!r}"))
    connection.send(seen)


class _ByName(FileStore):
    """The store as it is where a root may be a link."""

    def __init__(self, root: str, **options: Any) -> None:
        super().__init__(root, **{**options, "follow_root_link": True})
