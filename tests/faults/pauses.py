"""R7, first part: a holder that is paused keeps the store, one that is killed gives it back, threads take turns."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel import Locator, update
from agentm_kernel.plugin import LockTimeout, NotFoundError
from tests.faults.controls import until_caught
from tests.faults.harness import Outcome, scratch
from tests.faults.locks import HeartbeatLock, NotAlone, alone, no_lock, our_lock
from tests.faults.workers import HANG, Crew, Stuck

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tests.faults.harness import Intensity, StoreUnderTest
    from tests.faults.locks import Lock
    from tests.faults.workers import Worker

NOTE = Locator("note.md")
STORE_PATIENCE = 10.0
"""How long a verb waits for the mutex."""


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("pauses, kills and turns of a holder")
    slack = float(intensity.pick(short=20, full=1))
    _pause_holders(intensity.store, our_lock, _pauses(intensity), slack, outcome)
    _kill_holders(our_lock, intensity.pick(short=5, full=50), outcome)
    _take_turns(intensity.store, our_lock, outcome)

    displaced = until_caught(lambda found: _pause_holders(None, HeartbeatLock, [1.0], slack, found))
    outcome.control("a lock with a heartbeat, paused", displaced)
    crowded = until_caught(lambda found: _take_turns(None, no_lock, found))
    outcome.control("threads without a lock", crowded)
    return outcome


def _pauses(intensity: Intensity) -> list[float]:
    if not intensity.full:
        return [0.8, 1.0]
    draw = intensity.random("pauses")
    return [draw.uniform(0.5, 5.0) for _ in range(18)] + [15.0, 15.0]


# ------------------------------------------------------------------------------------------------ paused


@dataclass
class Pause:
    """One paused holder and those who want its store meanwhile."""

    seconds: float
    root: str
    holder: Worker
    impatient: Worker
    patient: Worker
    writer: Worker | None

    @property
    def patience(self) -> float:
        return self.seconds / 2


def _pause_holders(
    store: StoreUnderTest | None, lock: Lock, lengths: list[float], slack: float, outcome: Outcome
) -> None:
    """All pauses run at once, each over a store of its own; `store` adds a writer that goes through the verbs."""
    with scratch() as base, Crew() as crew:
        pauses = [
            _begin_pause(crew, store, lock, seconds, f"{base}/{number}") for number, seconds in enumerate(lengths)
        ]
        began = time.monotonic()
        for pause in sorted(pauses, key=lambda pause: pause.seconds):
            time.sleep(max(0.0, began + pause.seconds - time.monotonic()))
            outcome.count += 1
            try:
                _end_pause(pause, store, slack, outcome)
            except Stuck as stuck:
                outcome.violation("stuck", f"after a pause of {pause.seconds:.1f} s: {stuck}")


def _begin_pause(crew: Crew, store: StoreUnderTest | None, lock: Lock, seconds: float, root: str) -> Pause:
    os.mkdir(root)
    holder = crew.start(_be_inside, lock, root, HANG)
    holder.receive()
    holder.signal(signal.SIGSTOP)
    return Pause(
        seconds,
        root,
        holder,
        impatient=crew.start(_be_inside, lock, root, seconds / 2),
        patient=crew.start(_be_inside, lock, root, seconds + HANG),
        writer=crew.start(_write, store, root) if store else None,
    )


def _end_pause(pause: Pause, store: StoreUnderTest | None, slack: float, outcome: Outcome) -> None:
    what = f"while the holder was paused for {pause.seconds:.1f} s"
    word, waited = pause.impatient.receive(HANG)
    if word != "refused":
        outcome.violation("two inside", f"{word} {what}")
    elif waited > pause.patience + slack:
        outcome.violation("late", f"refused after {waited:.2f} s instead of {pause.patience:.2f} s")
    if pause.patient.has_reported():
        outcome.violation("two inside", f"a waiter was let in {what}")
    if store is not None and _has_note(store, pause.root):
        outcome.violation("two inside", f"a note was written {what}")
    pause.holder.signal(signal.SIGCONT)
    pause.holder.tell()
    _expect(pause.holder, "left", outcome)
    _expect(pause.patient, "inside", outcome)
    pause.patient.tell()
    _expect(pause.patient, "left", outcome)
    if pause.writer is not None:
        _check_writer(pause, pause.writer, slack, outcome)


def _expect(worker: Worker, wanted: str, outcome: Outcome) -> None:
    word, _ = worker.receive()
    if word != wanted:
        outcome.violation("two inside" if word == "not alone" else "wrong", f"{word} instead of {wanted}")


def _has_note(store: StoreUnderTest, root: str) -> bool:
    try:
        store.open(root).read(NOTE)
    except NotFoundError:
        return False
    return True


def _check_writer(pause: Pause, writer: Worker, slack: float, outcome: Outcome) -> None:
    word, waited = writer.receive()
    expected = ("written",) if pause.seconds < STORE_PATIENCE - 1 else ("written", "refused")
    if word not in expected:
        outcome.violation("wrong", f"a write during a pause of {pause.seconds:.1f} s: {word}")
    if word == "refused" and waited > STORE_PATIENCE + slack:
        outcome.violation("late", f"a write was refused after {waited:.2f} s")


def _be_inside(connection: Connection, lock: Lock, root: str, timeout: float) -> None:
    """Enter, stay until told to leave, and say each step; or say how long it took to be refused."""
    began = time.monotonic()
    try:
        with lock(root, timeout), alone(root):
            connection.send(("inside", time.monotonic()))
            connection.recv()
        connection.send(("left", time.monotonic()))
    except LockTimeout:
        connection.send(("refused", time.monotonic() - began))
    except NotAlone:
        connection.send(("not alone", 0.0))
    except Exception as error:
        connection.send((repr(error), 0.0))


def _write(connection: Connection, store: StoreUnderTest, root: str) -> None:
    began = time.monotonic()
    try:
        store.open(root).write(NOTE, "x")
        connection.send(("written", 0.0))
    except LockTimeout:
        connection.send(("refused", time.monotonic() - began))
    except Exception as error:
        connection.send((repr(error), 0.0))


# ------------------------------------------------------------------------------------------------ killed


def _kill_holders(lock: Lock, times: int, outcome: Outcome) -> None:
    """Kill a holder with -9 while another process waits, and measure how soon that one is inside."""
    delays = []
    for _ in range(times):
        outcome.count += 1
        with scratch() as root, Crew() as crew:
            holder = crew.start(_hold_without_witness, lock, root)
            holder.receive()
            waiter = crew.start(_hold_without_witness, lock, root)
            if waiter.has_reported(0.05):
                outcome.violation("two inside", "a waiter entered while the holder lived")
            killed = time.monotonic()
            holder.signal(signal.SIGKILL)
            try:
                delays.append(waiter.receive() - killed)
            except Stuck as stuck:
                outcome.violation("stuck", f"after kill -9 of the holder: {stuck}")
    if delays:
        outcome.measured["ms from kill -9 to the next inside (median)"] = round(statistics.median(delays) * 1000, 2)
        outcome.measured["ms (longest)"] = round(max(delays) * 1000, 2)


def _hold_without_witness(connection: Connection, lock: Lock, root: str) -> None:
    with lock(root, HANG):
        connection.send(time.monotonic())
        connection.recv()


# ------------------------------------------------------------------------------------------------ threads

THREADS, TURNS = 8, 25


def _take_turns(store: StoreUnderTest | None, lock: Lock, outcome: Outcome) -> None:
    """Threads of one process enter, and enter again while inside; with a store, they count together as well."""
    with scratch() as root:
        problems: list[str] = []

        def work() -> None:
            for _ in range(TURNS):
                try:
                    with lock(root, HANG), alone(root), lock(root, 0.0):
                        time.sleep(0)
                    if store is not None:
                        update(store.open(root), NOTE, lambda text: str(int(text or "0") + 1))
                except Exception as error:
                    problems.append(repr(error))

        threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG)
        if any(thread.is_alive() for thread in threads):
            outcome.violation("stuck", "a thread still waits")
        for problem in problems:
            outcome.violation("two inside" if problem.startswith("NotAlone") else "untyped", problem)
        if store is not None and int(store.open(root).read(NOTE)) != THREADS * TURNS:
            outcome.violation("lost", f"{THREADS} × {TURNS} increments gave {store.open(root).read(NOTE)}")
        outcome.count += THREADS * TURNS
