"""R4: eight writers on one store, killed with SIGKILL in the middle of what they do, again and again.

Half of the kills come from outside at a random moment, half from inside at a random system call of a write. Each
writer tells by a pipe what was acknowledged; what it told must be in the store, whole, whenever it dies.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from agentm_kernel.errors import AgentmError, NotFoundError
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from agentm_kernel.seam.update import update
from tests.faults import broken
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch
from tests.faults.sealed import Torn, number_in, numbered, seal, unseal
from tests.faults.syscalls import Tap
from tests.faults.workers import HANG, Stuck, Worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from tests.faults.syscalls import Real

WRITERS = 8
REGISTER = Locator("register.md")
LONGEST_PAUSE = 0.006
CALLS_BEFORE_A_WRITER_DIES = 250  # half a dozen writes
SLOWEST_SURVIVOR = 0.25


def campaign(intensity: Intensity) -> Outcome:
    draw = intensity.random("kills")
    outcome = _kill_writers(intensity.store, draw, intensity.pick(short=60, full=1500))
    slowest = outcome.measured["slowest survivor, ms"]
    if intensity.full and slowest > SLOWEST_SURVIVOR * 1000:
        outcome.violation("slow", f"after a kill nobody wrote for {slowest:g} ms")
    with broken.writing_in_place():
        torn = _kill_writers(intensity.store, draw, 1000, until_one_is_caught=True)
    outcome.control(broken.writing_in_place.__name__, torn)
    return outcome


# ------------------------------------------------------------------------------------------------ a writer


@dataclass(frozen=True)
class _Orders:
    """What one writer shall do: go on from these numbers, and perhaps kill itself at a certain call."""

    slot: int
    own: int
    registered: int
    seed: float
    dies_at_call: int | None


@dataclass(frozen=True)
class _Acknowledged:
    """Sent by a writer after a verb has returned."""

    what: str
    number: int
    moment: float


def _write_until_killed(connection: Connection, store: StoreUnderTest, root: str, orders: _Orders) -> None:
    backend = store.open(root)
    sizes = random.Random(orders.seed)
    try:
        with Tap(_Trap(orders.dies_at_call)) if orders.dies_at_call else nullcontext():
            for step in count(1):
                backend.write(_own_note(orders.slot), numbered(orders.own + step, sizes.randrange(60_000)))
                connection.send(_Acknowledged("own", orders.own + step, time.monotonic()))
                update(backend, REGISTER, partial(_with_entry, connection, orders.slot, orders.registered + step))
                connection.send(_Acknowledged("registered", orders.registered + step, time.monotonic()))
    except Exception as error:  # nothing else ends this loop but a kill
        connection.send(repr(error))


def _own_note(slot: int) -> Locator:
    return Locator(f"writer-{slot}/note.md")


def _with_entry(connection: Connection, slot: int, number: int, register: str | None) -> str:
    """The register with one entry changed. It is shared, so a lost update would lose somebody's entry."""
    try:
        entries = _entries(register)
    except Torn as torn:
        connection.send(torn)
        entries = {}
    entries[slot] = number
    return seal("".join(f"{slot} {number}\n" for slot, number in sorted(entries.items())))


def _entries(register: str | None) -> dict[int, int]:
    lines = unseal(register).splitlines() if register is not None else []
    return {int(slot): int(number) for slot, number in map(str.split, lines)}


class _Trap:
    """A handler for `Tap`: the process kills itself before a certain call."""

    def __init__(self, call: int) -> None:
        self._left = call

    def __call__(self, name: str, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)


# ------------------------------------------------------------------------------------------------ the killer


def _kill_writers(
    store: StoreUnderTest, draw: random.Random, kills: int, *, until_one_is_caught: bool = False
) -> Outcome:
    outcome = Outcome(f"kills of {WRITERS} writers")
    with scratch() as folder:
        killer = _Killer(store, os.path.join(folder, "memory"), draw, outcome)
        try:
            while outcome.count < kills and not (until_one_is_caught and outcome.violations):
                killer.kill_somebody()
        finally:
            killer.end()
        killer.judge_leftovers()
    outcome.measured["slowest survivor, ms"] = round(killer.slowest_survivor * 1000, 1)
    return outcome


@dataclass
class _Slot:
    """The place of one writer after another, and what they have acknowledged."""

    number: int
    worker: Worker
    acknowledged: dict[str, int]


class _Killer:
    """Keeps eight writers alive and kills one of them after the other."""

    def __init__(self, store: StoreUnderTest, root: str, draw: random.Random, outcome: Outcome) -> None:
        self._store = store
        self._root = root
        self._draw = draw
        self._outcome = outcome
        self._killed_at: float | None = None
        """When somebody was killed after whose death nobody has acknowledged anything yet."""
        self.slowest_survivor = 0.0
        self._slots = [_Slot(number, *self._successor(number, {})) for number in range(WRITERS)]

    def kill_somebody(self) -> None:
        """Wait a little for a writer that kills itself; if none does, kill one."""
        deadline = time.monotonic() + self._draw.uniform(0, LONGEST_PAUSE)
        while (left := deadline - time.monotonic()) > 0:
            wait([slot.worker.fileno() for slot in self._slots], left)
            for slot in self._slots:
                if not self._listen(slot):
                    self._bury(slot)
                    return
        slot = self._draw.choice(self._slots)
        self._killed_at = self._killed_at or time.monotonic()
        slot.worker.signal(signal.SIGKILL)
        while self._listen(slot):
            wait([slot.worker.fileno()], HANG)
        self._bury(slot)

    def end(self) -> None:
        for slot in self._slots:
            slot.worker.end()

    def judge_leftovers(self) -> None:
        """Whatever the dead left behind goes with the next write beside it, and is never listed."""
        backend = self._store.open(self._root)
        notes = {REGISTER, *(_own_note(slot.number) for slot in self._slots)}
        listed = {info.locator for info in backend.walk(Locator())}
        if unknown := listed - notes - {note.parent for note in notes}:
            self._outcome.violation("litter", f"listed as notes: {sorted(unknown)}")
        for note in notes:
            backend.write(note, "the last write\n")
        left = [name for _, _, names in os.walk(self._root) for name in names if name.startswith(TEMP_PREFIX)]
        if left:
            self._outcome.violation("litter", f"after the last writes there is {left}")

    def _successor(self, number: int, found: dict[str, int]) -> tuple[Worker, dict[str, int]]:
        """A new writer for a slot, which goes on from what was found."""
        dies_at_call = self._draw.randrange(1, CALLS_BEFORE_A_WRITER_DIES) if self._draw.random() < 0.5 else None
        orders = _Orders(number, found.get("own", 0), found.get("registered", 0), self._draw.random(), dies_at_call)
        return Worker(_write_until_killed, self._store, self._root, orders), found

    def _listen(self, slot: _Slot) -> bool:
        """Take in what a writer said; whether it still lives."""
        while slot.worker.has_reported():
            try:
                message = slot.worker.receive()
            except (Stuck, OSError):
                return False
            if isinstance(message, _Acknowledged):
                slot.acknowledged[message.what] = message.number
                if self._killed_at is not None and message.moment > self._killed_at:
                    self.slowest_survivor = max(self.slowest_survivor, message.moment - self._killed_at)
                    self._killed_at = None
            else:
                self._outcome.violation("torn" if isinstance(message, Torn) else "untyped", str(message))
        return True

    def _bury(self, slot: _Slot) -> None:
        slot.worker.end()
        self._outcome.count += 1
        found = {
            "own": self._judge(slot, "own", _own_note(slot.number), number_in),
            "registered": self._judge(slot, "registered", REGISTER, lambda text: _entries(text).get(slot.number, 0)),
        }
        slot.worker, slot.acknowledged = self._successor(slot.number, found)

    def _judge(self, slot: _Slot, what: str, locator: Locator, number_of: Callable[[str], int]) -> int:
        """What the dead writer left: what it acknowledged, or the one write that was under way."""
        acknowledged = slot.acknowledged.get(what, 0)
        try:
            found = number_of(self._store.open(self._root).read(locator))
        except NotFoundError:
            found = 0
        except (Torn, AgentmError) as error:
            self._outcome.violation("torn", f"{locator}: {error}")
            return acknowledged
        if found < acknowledged:
            self._outcome.violation("lost", f"{locator} holds {found}, acknowledged was {acknowledged}")
        elif found > acknowledged + 1:
            self._outcome.violation("invented", f"{locator} holds {found}, acknowledged was {acknowledged}")
        return found
