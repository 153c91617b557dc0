"""R7, third part: forks and signals in the middle of holding a store.

A child owns nothing of its parent's and frees nothing of it. A signal handler of the application, whatever it does,
neither lets a second holder in nor leaves a lock behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agentm_kernel.plugin import LockTimeout
from tests.faults.controls import until_caught
from tests.faults.harness import Outcome, scratch
from tests.faults.locks import alone, flock_freed_by_signals, flock_without_owner, our_lock
from tests.faults.workers import HANG, Crew, Stuck

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from types import FrameType

    from tests.faults.harness import Intensity
    from tests.faults.locks import Lock
    from tests.faults.workers import Worker


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("forks and signals of a holder")
    times = intensity.pick(short=20, full=100)
    _fork_holders(our_lock, times, outcome)
    for handler in HANDLERS:
        _signal_holders(our_lock, handler, times, intensity.random(handler), outcome)

    freed = until_caught(lambda found: _fork_holders(flock_without_owner, 5, found))
    outcome.control("a lock that a forked child releases", freed)
    draw = intensity.random("control")
    dropped = until_caught(lambda found: _signal_holders(flock_freed_by_signals, "carries on", 20, draw, found))
    outcome.control("a lock that a signal releases", dropped)
    return outcome


# ------------------------------------------------------------------------------------------------ forks


class _Child(Exception):
    """Raised in a child to leave the blocks that it inherited, as `sys.exit` does."""


def _leave_at_once() -> None:
    os._exit(0)


def _unwind() -> None:
    raise _Child


def _become_another_program() -> None:
    os.execv(sys.executable, [sys.executable, "-S", "-c", "pass"])


CHILDREN: list[Callable[[], None]] = [_leave_at_once, _unwind, _become_another_program]


def _fork_holders(lock: Lock, times: int, outcome: Outcome) -> None:
    """Each round: a holder forks, the child tries the lock and ends in one way or another, an intruder tries too."""
    with scratch() as root, Crew() as crew:
        intruder = crew.start(_intrude, lock, root, 0.0)
        holder = crew.start(_fork_and_hold, lock, root, times)
        try:
            for turn in range(times):
                outcome.count += 1
                _check_fork(holder, intruder, CHILDREN[turn % len(CHILDREN)].__name__, outcome)
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))


def _check_fork(holder: Worker, intruder: Worker, child: str, outcome: Outcome) -> None:
    believed = holder.receive()
    if believed != 0:
        outcome.violation("two inside", f"a child believed that it held the lock ({believed})")
    if _try(intruder) != "refused":
        outcome.violation("two inside", f"a child that ended by {child} freed its parent's lock")
    holder.tell()
    holder.receive()
    if _try(intruder) != "entered":
        outcome.violation("stuck", "a child that lives on keeps the lock that its parent released")
    holder.tell()


def _try(intruder: Worker) -> str:
    intruder.tell()
    return str(intruder.receive())


def _intrude(connection: Connection, lock: Lock, root: str, patience: float) -> None:
    while True:
        connection.recv()
        try:
            with lock(root, patience):
                word = "entered"
        except LockTimeout:
            word = "refused"
        connection.send(word)


def _fork_and_hold(connection: Connection, lock: Lock, root: str, times: int) -> None:
    for turn in range(times):
        lifeline, our_end = os.pipe()
        try:
            with lock(root, HANG):
                lingering = _fork(lambda: _live_on(lifeline, our_end))  # noqa: B023
                trying = _fork(lambda: _try_as_child(lock, root, CHILDREN[turn % len(CHILDREN)]))  # noqa: B023
                connection.send(os.waitstatus_to_exitcode(os.waitpid(trying, 0)[1]))
                connection.recv()
        except _Child:
            os._exit(0)
        connection.send("released")
        connection.recv()
        os.close(our_end)
        os.close(lifeline)
        os.waitpid(lingering, 0)


def _fork(in_child: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        in_child()
        os._exit(3)
    return child


def _live_on(lifeline: int, parents_end: int) -> None:
    """Stay until the parent ends the other end of the line, or ends itself."""
    os.close(parents_end)
    os.read(lifeline, 1)
    os._exit(0)


def _try_as_child(lock: Lock, root: str, end: Callable[[], None]) -> None:
    try:
        with lock(root, 0.01):
            os._exit(1)
    except LockTimeout:
        end()


# ------------------------------------------------------------------------------------------------ signals


class _Interrupted(Exception):
    """What an application's handler may raise, and its main loop catch."""


HANDLERS = ("carries on", "raises", "enters the store")


class _Application:
    """A process that goes in and out of a store and handles SIGTERM in its own way."""

    def __init__(self, lock: Lock, root: str, behaviour: str) -> None:
        self._lock, self._root, self._behaviour = lock, root, behaviour
        self._may_raise = False
        self._is_handling = False
        self.handled = 0
        self.problems: list[str] = []
        signal.signal(signal.SIGTERM, self._handle)

    def take_turn(self) -> None:
        try:
            self._may_raise = True
            with self._lock(self._root, HANG):
                self._may_raise = False  # half a witness would accuse the innocent
                with alone(self._root):
                    time.sleep(0.001)
                self._may_raise = True
            self._may_raise = False
        except _Interrupted:
            pass
        except Exception as error:
            self.problems.append(repr(error))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.handled += 1
        if self._behaviour == "raises" and self._may_raise:
            self._may_raise = False
            raise _Interrupted
        if self._behaviour == "enters the store" and not self._is_handling:
            self._is_handling = True
            self._enter()
            self._is_handling = False

    def _enter(self) -> None:
        """A last word into the store: it may be refused, where it interrupted its own waiting, but must not hang."""
        with suppress(LockTimeout), self._lock(self._root, 0.05):
            pass


def _signal_holders(lock: Lock, handler: str, times: int, draw: random.Random, outcome: Outcome) -> None:
    """Two processes take turns, and both are sent SIGTERM at random moments until each has handled enough."""
    with scratch() as root, Crew() as crew:
        workers = [crew.start(_take_turns, lock, root, handler, times) for _ in range(2)]
        try:
            for worker in workers:
                worker.receive()
            _shower(workers, draw)
            for worker in workers:
                handled, problems = worker.receive()
                outcome.count += handled
                for problem in problems:
                    outcome.violation("two inside" if problem.startswith("NotAlone") else "untyped", problem)
            if _try(crew.start(_intrude, lock, root, 5.0)) != "entered":
                outcome.violation("stuck", f"a handler that {handler} left the lock held")
        except Stuck as stuck:
            outcome.violation("stuck", f"with a handler that {handler}: {stuck}")


def _shower(workers: list[Worker], draw: random.Random) -> None:
    deadline = time.monotonic() + HANG
    while time.monotonic() < deadline:
        busy = [worker for worker in workers if not worker.has_reported()]
        if not busy:
            return
        draw.choice(busy).signal(signal.SIGTERM)
        time.sleep(draw.uniform(0, 0.004))
    raise Stuck("signals were sent for a minute, and the processes have not handled enough of them")


def _take_turns(connection: Connection, lock: Lock, root: str, behaviour: str, times: int) -> None:
    application = _Application(lock, root, behaviour)
    connection.send("ready")
    while application.handled < times:
        application.take_turn()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    connection.send((application.handled, application.problems))
    connection.recv()
