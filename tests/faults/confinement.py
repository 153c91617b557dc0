"""R12: somebody swaps directories of the store for links to the outside, as fast as the system can, all the time.

Whoever checks a path and then opens it loses this race. Nothing outside may be read, listed, measured or changed.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentm_kernel import AgentmError, Locator, update
from agentm_kernel.files.exchange import exchange
from agentm_kernel.plugin import ABSENT, Info
from tests.faults.controls import until_caught
from tests.faults.harness import Outcome, StoreUnderTest, scratch
from tests.faults.workers import HANG, Crew, Stuck, start_together, wait_for_start

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from tests.faults.harness import Intensity

SECRET = "SECRET: nobody inside the store may ever see this\n"
PUBLIC = "public\n"
OUTSIDE_ONLY = "only-outside.md"
WORKERS = 4
KEYS = ("dir/secret.md", "dir/sub/deep.md", "dir/new.md", "deep/dir/secret.md", "deep/dir/other.md", "note.md")
PAIRS = (("", "dir", "trap"), ("deep", "dir", "trap"), ("", "note.md", "trap.md"))
"""What is swapped: the folder it happens in, a thing of the store, and the link that takes its place."""


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("swaps of a directory and a link")
    swaps, seconds = intensity.pick(short=5_000, full=500_000), intensity.pick(short=1, full=20)
    _race(intensity.store, VERBS, swaps, seconds, intensity.random("verbs"), outcome)
    naive, draw = StoreUnderTest("naive", cast("Any", CheckThenOpen)), intensity.random("control")
    broken = until_caught(lambda found: _race(naive, NAIVE_VERBS, 5_000, 1, draw, found))
    outcome.control("a store that checks the path and then opens it", broken)
    return outcome


# ------------------------------------------------------------------------------------------------ the race


def _race(
    store: StoreUnderTest,
    verbs: dict[str, Verb],
    swaps: int,
    seconds: int,
    draw: random.Random,
    outcome: Outcome,
) -> None:
    with scratch() as base, Crew() as crew:
        root, outside = _prepare(base, store)
        before = _contents(outside)
        attacker = crew.start(_swap_for_ever, root, swaps, seconds)
        workers = [crew.start(_use, store, root, list(verbs), draw.random()) for _ in range(WORKERS)]
        start_together([attacker, *workers])
        try:
            done = attacker.receive(seconds + 20 * HANG)
            for worker in workers:
                worker.tell()
            seen = [worker.receive() for worker in workers]
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))
            return
        outcome.count += done
        for change in before ^ _contents(outside):
            outcome.violation("escape", f"outside changed: {change}")
    _judge(seen, outcome)


def _prepare(base: str, store: StoreUnderTest) -> tuple[str, str]:
    root, outside = os.path.join(base, "store"), os.path.join(base, "outside")
    os.makedirs(os.path.join(outside, "sub"))
    for name in ("secret.md", "sub/deep.md", "other.md", OUTSIDE_ONLY):
        Path(outside, name).write_text(SECRET)
    os.makedirs(os.path.join(root, "dir"))
    os.makedirs(os.path.join(root, "deep", "dir"))
    backend = store.open(root)
    for key in ("dir/secret.md", "deep/dir/secret.md", "note.md"):
        backend.write(Locator(key), PUBLIC)
    for folder, name, link in PAIRS:
        target = os.path.join(outside, "secret.md") if name.endswith(".md") else outside
        os.symlink(target, os.path.join(root, folder, link))
    return root, outside


def _contents(folder: str) -> set[tuple[str, str | None]]:
    return {
        (path.relative_to(folder).as_posix(), path.read_text() if path.is_file() else None)
        for path in Path(folder).rglob("*")
    }


def _judge(seen: list[Seen], outcome: Outcome) -> None:
    answers: Counter[str] = sum((worker.answers for worker in seen), Counter())
    for worker in seen:
        for kind, example in worker.problems:
            outcome.violation(kind, example)
    outcome.measured["verbs done"] = answers["done"]
    outcome.measured["verbs refused, all typed"] = answers["refused"]
    if not answers["done"] or not answers["refused"]:
        outcome.violation("no verdict", f"the race did not happen: {dict(answers)}")


# ------------------------------------------------------------------------------------------------ the attacker


def _swap_for_ever(connection: Connection, root: str, swaps: int, seconds: int) -> None:
    """Swap at least so often and so long, then say how often."""
    folders = [(os.open(os.path.join(root, folder), os.O_RDONLY), name, link) for folder, name, link in PAIRS]
    wait_for_start(connection)
    deadline = time.monotonic() + seconds
    done = 0
    while done < swaps or time.monotonic() < deadline:
        for descriptor, name, link in folders:
            with suppress(FileNotFoundError):  # deleted by a user of the store, who will write it again
                _swap(descriptor, name, link)
                done += 1
    connection.send(done)


def _swap(directory: int, first: str, second: str) -> None:
    rename = partial(os.rename, src_dir_fd=directory, dst_dir_fd=directory)
    if not exchange(directory, first, second):
        rename(first, "swapping")
        rename(second, first)
        rename("swapping", second)


# ------------------------------------------------------------------------------------------------ the store's users

if TYPE_CHECKING:
    Verb = Callable[[Any, Locator], object]

VERBS: dict[str, Verb] = {
    "read": lambda store, note: store.read(note),
    "write": lambda store, note: store.write(note, PUBLIC),
    "create": lambda store, note: store.write(note, PUBLIC, if_match=ABSENT),
    "update": lambda store, note: update(store, note, _without_secrets, timeout=0.01),
    "list": lambda store, note: store.list(note.parent),
    "walk": lambda store, note: list(store.walk(Locator())),
    "info": lambda store, note: store.info(note),
    "exists": lambda store, note: store.exists(note),
    "mkdir": lambda store, note: store.mkdir(note.parent.child("made")),
    "delete": lambda store, note: store.delete(note),
}
NAIVE_VERBS = {name: VERBS[name] for name in ("read", "write", "list")}


class Escaped(Exception):
    """Something of the outside was seen."""


@dataclass
class Seen:
    """What one process did and met."""

    answers: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)


def _use(connection: Connection, store: StoreUnderTest, root: str, verbs: list[str], seed: float) -> None:
    draw = random.Random(seed)
    backend = store.open(root)
    seen = Seen()
    wait_for_start(connection)
    while not connection.poll():
        verb, note = draw.choice(verbs), Locator(draw.choice(KEYS))
        try:
            _check(VERBS[verb](backend, note))
            seen.answers["done"] += 1
        except AgentmError:
            seen.answers["refused"] += 1
        except Escaped:
            seen.problems.append(("escape", f"{verb} of {note} reached the outside"))
        except Exception as error:
            seen.problems.append(("untyped", f"{verb} of {note}: {error!r}"))
    connection.send(seen)


def _without_secrets(text: str | None) -> str:
    _check(text)
    return PUBLIC


def _check(answer: Any) -> None:
    """Raise `Escaped` if `answer` shows anything of the outside."""
    values = answer if isinstance(answer, list) else [answer]
    for value in values:
        is_secret = value == SECRET or (isinstance(value, Info) and value.size == len(SECRET))
        locator = value.locator if isinstance(value, Info) else value
        if is_secret or (isinstance(locator, Locator) and locator.name == OUTSIDE_ONLY):
            raise Escaped


# ------------------------------------------------------------------------------------------------ control


class CheckThenOpen:
    """What a careful program does without directory descriptors: resolve, compare with the root, then open."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def _path(self, note: Locator) -> str:
        path = os.path.join(self._root, *note.parts)
        if not os.path.realpath(path).startswith(self._root + os.sep):
            raise AgentmError(f"'{note}' leads out of the store")
        return path

    def read(self, note: Locator) -> str:
        try:
            return Path(self._path(note)).read_text()
        except OSError as error:
            raise AgentmError(str(error)) from error

    def write(self, note: Locator, content: str) -> None:
        try:
            Path(self._path(note)).write_text(content)
        except OSError as error:
            raise AgentmError(str(error)) from error

    def list(self, note: Locator) -> list[Locator]:
        try:
            return [note.child(name) for name in os.listdir(self._path(note)) if not name.startswith(".")]
        except OSError as error:
            raise AgentmError(str(error)) from error
