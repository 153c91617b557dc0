"""R1: the power goes in the middle of writing, on real file systems.

A writer works on a file system in an image and tells what it begins and what was acknowledged. It is stopped at a
random moment, the disk as it is at that instant is mounted like after a restart, journal replay and all, and the real
code opens the store there.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Literal
from unittest import mock

from agentm_kernel.errors import AgentmError, NotFoundError
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from agentm_kernel.seam.update import append, update
from tests.faults import broken, images
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch
from tests.faults.sealed import Torn, number_in, numbered
from tests.faults.workers import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from multiprocessing.connection import Connection

    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.workers import Worker

    Build = Callable[[], AbstractContextManager[None]]

STORE, STATE = "memory", "state"
LOG = "log.md"
"""The note that is only added to: a line for every number."""
CUTS_PER_DISK = 30  # then a new one, so that first writes into new folders stay part of it
LONGEST_RUN = 0.05


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("power cuts")
    plan = {images.EXT4: intensity.pick(short=10, full=120)}
    if intensity.full:
        plan |= {images.BTRFS: 60, images.XFS: 20}
    for kind, cuts in plan.items():
        reason = images.why_not(kind)
        if reason:
            outcome.skips.append(f"{kind.name}: {reason}")
        else:
            _cut(kind, intensity, nullcontext, cuts, outcome)
            outcome.measured[f"of them {kind.name}"] = cuts
    if not images.why_not(images.EXT4):
        for build in (broken.without_directory_fsync, broken.without_any_fsync):
            control = Outcome("power cuts")
            _cut(images.EXT4, intensity, build, 200, control, until_one_is_caught=True)
            outcome.control(build.__name__, control)
    return outcome


# ------------------------------------------------------------------------------------------------ the writer


@dataclass(frozen=True)
class _Step:
    """One verb on one note, and the number that the note holds afterwards; `None`: it is gone."""

    verb: Literal["write", "update", "delete", "append"]
    key: str
    number: int | None


def _write_on(connection: Connection, store: StoreUnderTest, root: str, seed: float) -> None:
    draw = random.Random(seed)
    try:
        backend = _open_on_disk(store, os.path.dirname(root))
        for step in _steps(draw):
            connection.send(("begins", step))
            _take(backend, step, draw.randrange(20_000))
            connection.send(("acknowledged", step))
    except Exception as error:  # nothing else ends this loop but a kill
        connection.send(("fails", repr(error)))


def _steps(draw: random.Random) -> Iterator[_Step]:
    there: set[str] = set()
    for number in count(1):
        key = f"folder-{number // 25}/note-{draw.randrange(4)}.md"
        if draw.random() < 0.25:
            yield _Step("append", LOG, number)
        elif key in there and draw.random() < 0.2:
            there.discard(key)
            yield _Step("delete", key, None)
        else:
            there.add(key)
            yield _Step("write" if draw.random() < 0.5 else "update", key, number)


def _take(backend: StorageBackend, step: _Step, size: int) -> None:
    locator = Locator(step.key)
    if step.number is None:
        backend.delete(locator)
    elif step.verb == "append":
        append(backend, locator, _line(step.number))
    elif step.verb == "write":
        backend.write(locator, numbered(step.number, size))
    else:
        note = numbered(step.number, size)
        update(backend, locator, lambda text: note)


def _line(number: int) -> str:
    """A line of some length, which shows where it ends."""
    return f"<{number} {'.' * (number * 37 % 5000)} {number}>\n"


def _open_on_disk(store: StoreUnderTest, disk: str) -> StorageBackend:
    """The store on a disk, by a device whose own state is on that disk, too: the power goes for both."""
    os.environ["XDG_STATE_HOME"] = os.path.join(disk, STATE)
    return store.open(os.path.join(disk, STORE))


# ------------------------------------------------------------------------------------------------ the cuts


def _cut(
    kind: images.Kind,
    intensity: Intensity,
    build: Build,
    cuts: int,
    outcome: Outcome,
    *,
    until_one_is_caught: bool = False,
) -> None:
    draw = intensity.random(f"power-cuts on {kind.name}")
    last = outcome.count + cuts
    while outcome.count < last:
        with scratch() as folder, images.image_of(kind, folder) as image, Crew() as crew:
            root = os.path.join(image.mounted, STORE)
            with build():
                writer = crew.start(_write_on, intensity.store, root, draw.random())
            ledger = _Ledger(writer, outcome)
            for _ in range(min(CUTS_PER_DISK, last - outcome.count)):
                time.sleep(draw.uniform(0, LONGEST_RUN))
                ledger.stop_writer()
                with image.after_power_cut() as place, mock.patch.dict(os.environ):
                    _judge(_open_on_disk(intensity.store, place), ledger, outcome)
                    _judge_leftovers(intensity.store, os.path.join(place, STORE), outcome)
                    _judge_log(_open_on_disk(intensity.store, place), ledger, outcome)
                outcome.count += 1
                if until_one_is_caught and outcome.violations:
                    return
                writer.signal(signal.SIGCONT)


@dataclass
class _Ledger:
    """What the writer has told: what must be there, and what may be."""

    writer: Worker
    outcome: Outcome
    acknowledged: dict[str, int | None] = field(default_factory=dict)
    appended: list[int] = field(default_factory=list)
    begun: _Step | None = None

    def __post_init__(self) -> None:
        self._note(*self.writer.receive())  # a writer that has not started cannot lose anything

    def stop_writer(self) -> None:
        """Stop it, wait until the kernel says that it stands still, and hear what it said before."""
        self.writer.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.writer.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        while self.writer.has_reported():
            self._note(*self.writer.receive())

    def allowed(self, key: str) -> set[int | None]:
        numbers = {self.acknowledged.get(key)}
        if self.begun and self.begun.key == key:
            numbers.add(self.begun.number)
        return numbers

    def notes(self) -> set[str]:
        return {*self.acknowledged, *([self.begun.key] if self.begun and self.begun.verb != "append" else [])}

    def _note(self, what: str, step: _Step) -> None:
        if what == "begins":
            self.begun = step
        elif what == "acknowledged" and step.verb == "append" and step.number is not None:
            self.appended.append(step.number)
            self.begun = None
        elif what == "acknowledged":
            self.acknowledged[step.key] = step.number
            self.begun = None
        else:
            raise RuntimeError(f"the writer failed without a power cut: {step}")


def _judge(backend: StorageBackend, ledger: _Ledger, outcome: Outcome) -> None:
    for key in sorted(ledger.notes()):
        try:
            found: int | None = number_in(backend.read(Locator(key)))
        except NotFoundError:
            found = None
        except (Torn, AgentmError) as error:
            outcome.violation("torn", f"{key}: {error}")
            continue
        if found not in ledger.allowed(key):
            outcome.violation("lost", f"{key} holds {found}, acknowledged was {ledger.acknowledged.get(key)}")
    known = {LOG, *(part for key in ledger.notes() for part in (key, key.partition("/")[0]))}
    listed = {info.locator.key for info in backend.walk(Locator())}
    if listed - known:
        outcome.violation("litter", f"listed as notes: {sorted(listed - known)}")


def _judge_leftovers(store: StoreUnderTest, root: str, outcome: Outcome) -> None:
    """The store takes the next write, and with it goes what the cut one left."""
    backend = store.open(root)
    try:
        backend.write(Locator("next.md"), "the next write\n")
        for path in _temp_files(root):
            folder = os.path.relpath(os.path.dirname(path), root)
            backend.write(Locator(folder).child("next.md"), "the next write\n")
    except AgentmError as error:
        outcome.violation("unusable", f"the next write after a cut: {error}")
    if left := _temp_files(root):
        outcome.violation("litter", f"after the next write there is {left}")


def _judge_log(backend: StorageBackend, ledger: _Ledger, outcome: Outcome) -> None:
    """Every line that was acknowledged is there, whole and in order; one that was begun is there whole, or not."""
    begun = ledger.begun.number if ledger.begun and ledger.begun.verb == "append" else None
    if not ledger.appended and begun is None:
        return
    append(backend, Locator(LOG), "<next>\n")
    found = backend.read(Locator(LOG))
    acknowledged = "".join(map(_line, ledger.appended))
    if found.removesuffix("<next>\n") not in (acknowledged, acknowledged + (_line(begun) if begun else "")):
        is_lost = not found.startswith(acknowledged)
        outcome.violation("lost" if is_lost else "torn", f"{LOG} ends with {found[-80:]!r} while {begun} was begun")


def _temp_files(root: str) -> list[str]:
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(root)
        for name in names
        if name.startswith(TEMP_PREFIX)
    ]
