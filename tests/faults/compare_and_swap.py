"""R6: many processes append to one note through `update`; every acknowledged line must be there, once, in order."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING

from agentm_kernel import AgentmError, Locator, update
from agentm_kernel.plugin import BackendLayer, ConcurrentModificationError, NotFoundError, content_hash
from tests.faults.controls import until_caught
from tests.faults.harness import Outcome, StoreUnderTest, scratch
from tests.faults.histories import Append, History, Read, check
from tests.faults.workers import HANG, Crew, Stuck, start_together, wait_for_start

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from tests.faults.harness import Intensity

APPENDERS = 8
NOTE = Locator("log.md")
COUNTER = Locator("counter.md")


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("appends of 8 processes to one note")
    appends = intensity.pick(short=50, full=1300)
    race_appends(intensity.store, outcome, appends_each=appends)
    for _ in range(intensity.pick(short=1, full=5)):
        _race_increments(intensity.store, outcome)
    for name, layer in CONTROLS.items():
        store = layered(intensity.store, layer)
        outcome.control(name, until_caught(partial(race_appends, store, appends_each=25)))
    return outcome


# ------------------------------------------------------------------------------------------------ appending


def race_appends(store: StoreUnderTest, outcome: Outcome, *, appends_each: int) -> None:
    with scratch() as root, Crew() as crew:
        appenders = [crew.start(_append_lines, store, root, number, appends_each) for number in range(APPENDERS)]
        reader = crew.start(_read_now_and_then, store, root)
        start_together([*appenders, reader])
        started = time.monotonic()
        history = History()
        try:
            for appender in appenders:
                history.add(appender.receive(4 * HANG))
            elapsed = time.monotonic() - started
            reader.tell()
            history.add(reader.receive())
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))
            return
        check(history, store.open(root).read(NOTE), outcome)
    outcome.count += len(history.acknowledged)
    outcome.measured["appends/s"] = round(len(history.acknowledged) / elapsed, 1)
    outcome.measured["refusals, all typed"] = sum(history.refused.values())
    outcome.measured["texts read meanwhile"] = len(history.reads)


def _append_lines(connection: Connection, store: StoreUnderTest, root: str, number: int, times: int) -> None:
    history = History()
    backend = _Witnessed(store.open(root), history)
    wait_for_start(connection)
    for turn in range(times):
        line = f"{number}.{turn}\n"
        began = time.monotonic()
        acknowledged = False
        try:
            update(backend, NOTE, partial(_with_line, line))
            acknowledged = True
        except AgentmError as error:
            history.refused[type(error).__name__] += 1
        except Exception as error:
            history.untyped.append(repr(error))
        history.appends.append(Append(line, began, time.monotonic(), acknowledged))
    connection.send(history)


def _with_line(line: str, text: str | None) -> str:
    return (text or "") + line


def _read_now_and_then(connection: Connection, store: StoreUnderTest, root: str) -> None:
    backend = store.open(root)
    history = History()
    wait_for_start(connection)
    while not connection.poll(0.02):
        began = time.monotonic()
        try:
            text = backend.read(NOTE)
        except NotFoundError:
            text = ""
        except Exception as error:
            history.untyped.append(repr(error))
            continue
        history.reads.append(Read(len(text), content_hash(text), began, time.monotonic()))
    connection.send(history)


class _Witnessed(BackendLayer):
    """Counts the refusals that `update` answers by trying again."""

    def __init__(self, inner: StorageBackend, history: History) -> None:
        super().__init__(inner)
        self._history = history

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        try:
            return super().write(locator, content, if_match=if_match)
        except ConcurrentModificationError as error:
            self._history.refused[type(error).__name__] += 1
            raise


# ------------------------------------------------------------------------------------------------ counting

COUNTERS, INCREMENTS = 4, 50


def _race_increments(store: StoreUnderTest, outcome: Outcome) -> None:
    with scratch() as root, Crew() as crew:
        counters = [crew.start(_count_up, store, root) for _ in range(COUNTERS)]
        start_together(counters)
        try:
            errors = [error for counter in counters for error in counter.receive()]
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))
            return
        counted = int(store.open(root).read(COUNTER))
    for error in errors:
        outcome.violation("untyped", error)
    if counted != COUNTERS * INCREMENTS:
        outcome.violation("lost", f"{COUNTERS} × {INCREMENTS} increments gave {counted}")
    outcome.measured[f"{COUNTERS} × {INCREMENTS} increments"] = counted


def _count_up(connection: Connection, store: StoreUnderTest, root: str) -> None:
    backend = store.open(root)
    wait_for_start(connection)
    errors = []
    for _ in range(INCREMENTS):
        try:
            update(backend, COUNTER, lambda text: str(int(text or "0") + 1))
        except Exception as error:
            errors.append(repr(error))
    connection.send(errors)


# ------------------------------------------------------------------------------------------------ controls


class _Unconditional(BackendLayer):
    """Reads, then writes whatever happened in between: what programs do that have never heard of a condition."""

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        return super().write(locator, content)


class _Forgetful(BackendLayer):
    """Now and then reports a refusal after it has written, so the caller writes again."""

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        written = super().write(locator, content, if_match=if_match)
        if random.random() < 0.2:
            raise ConcurrentModificationError(f"'{locator}' was not written")
        return written


class _Stale(BackendLayer):
    """Answers a read from what it read before, every other time."""

    def __init__(self, inner: StorageBackend) -> None:
        super().__init__(inner)
        self._remembered: str | None = None

    def read(self, locator: Locator) -> str:
        if self._remembered is not None:
            text, self._remembered = self._remembered, None
            return text
        self._remembered = super().read(locator)
        return self._remembered


CONTROLS = {
    "writes without a condition": _Unconditional,
    "a refusal after the write": _Forgetful,
    "reads from a cache": _Stale,
}


def layered(store: StoreUnderTest, layer: type[BackendLayer]) -> StoreUnderTest:
    return StoreUnderTest(f"{store.name}, broken", lambda root: layer(store.open(root)))
