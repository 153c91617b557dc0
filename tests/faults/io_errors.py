"""R3: every verb, every system call in it, every error that a disk has, once and for ever.

The k-th call of a verb fails, k = 1, 2, … until the verb runs through. Whatever happens: the old content or the new,
an error of our own class that is never mistaken for absence, nothing left behind after the next write, no descriptor
lost, and a lock that other threads and other processes get.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING, Any

from agentm_kernel.errors import AgentmError, NotFoundError, StorageIOError
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from tests.faults import broken, real_faults
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch
from tests.faults.scenarios import READS, WRITES, Scenario
from tests.faults.syscalls import Tap
from tests.faults.workers import Crew, Stuck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from multiprocessing.connection import Connection

    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.syscalls import Real

    Build = Callable[[], AbstractContextManager[None]]

ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.ETIMEDOUT, errno.EDEADLK)
PATIENCE = 3.0  # a lock that is free is taken in a millisecond


def campaign(intensity: Intensity) -> Outcome:
    errors = ERRORS if intensity.full else intensity.random("io-errors").sample(ERRORS, 1)
    outcome = _inject_everywhere(intensity.store, (*READS, *WRITES), errors, nullcontext)
    naive = _inject_everywhere(intensity.store, WRITES[:1], (errno.ENOSPC,), broken.writing_in_place)
    outcome.control(broken.writing_in_place.__name__, naive)
    real_faults.add_to(outcome, intensity)
    return outcome


class Injector:
    """A handler for `Tap` that fails the call number `target`, or all from there on."""

    def __init__(self, target: int, code: int, *, for_ever: bool) -> None:
        self._target = target
        self._for_ever = for_ever
        self._calls = 0
        self.code = code
        self.failed = ""
        """The name of the call that failed first."""

    def __call__(self, name: str, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._calls += 1
        if self._calls < self._target or (self._calls > self._target and not self._for_ever):
            return real(*args, **kwargs)
        self.failed = self.failed or name
        if name == "close":
            real(*args, **kwargs)  # the kernel gives the descriptor back even when it reports an error
        raise OSError(self.code, os.strerror(self.code))

    def __str__(self) -> str:
        how_long = "for ever" if self._for_ever else "once"
        return f"{self.failed}(), call {self._target}, failed {how_long} with {errno.errorcode[self.code]}"


def _inject_everywhere(
    store: StoreUnderTest, scenarios: Iterable[Scenario], errors: Iterable[int], build: Build
) -> Outcome:
    outcome = Outcome("I/O errors")
    with scratch(in_memory=True) as folder, Crew() as crew:
        rival = _Rival(crew, store)
        root = os.path.join(folder, "home", "memory")
        for scenario, code, for_ever in product(scenarios, errors, (False, True)):
            for target in count(1):
                injector = Injector(target, code, for_ever=for_ever)
                with build():
                    _Trial(store, scenario, root, injector, rival, outcome).run()
                if not injector.failed:
                    break
                outcome.count += 1
    return outcome


def _write_everywhere(backend: StorageBackend) -> str:
    """A note in each folder that a scenario touches, by somebody who knows nothing of the fault."""
    try:
        for folder in ("", "folder", "new/deep"):
            backend.write(Locator(folder).child("next.md"), "the next write\n")
    except AgentmError as error:
        return f"{type(error).__name__}: {error}"
    return "written"


class _Rival:
    """Another process that wants to write."""

    def __init__(self, crew: Crew, store: StoreUnderTest) -> None:
        self._crew = crew
        self._store = store
        self._worker = crew.start(_write_on_demand, store)

    def write(self, root: str) -> str:
        self._worker.tell(root)
        try:
            return str(self._worker.receive(PATIENCE))
        except Stuck:
            self._worker = self._crew.start(_write_on_demand, self._store)
            return "stuck"


def _write_on_demand(connection: Connection, store: StoreUnderTest) -> None:
    while True:
        connection.send(_write_everywhere(store.open(connection.recv())))


@dataclass
class _Trial:
    """One scenario with one fault, on a store made for it."""

    store: StoreUnderTest
    scenario: Scenario
    root: str
    injector: Injector
    rival: _Rival
    outcome: Outcome

    def run(self) -> None:
        shutil.rmtree(os.path.dirname(self.root), ignore_errors=True)
        self.scenario.prepare(self.root)
        backend = self.store.open(self.root)
        before = _open_descriptors()
        succeeded = self._act(backend)
        if _open_descriptors() != before:
            gc.collect()  # what an exception's traceback held open
            if _open_descriptors() != before:
                self._report("leak", "a descriptor stays open")
        self._judge_contents(succeeded)
        if self.scenario not in READS:
            self._judge_next_writes(backend)

    def _act(self, backend: StorageBackend) -> bool:
        """Run the verb into its fault; whether it claims to have done its work."""
        with Tap(self.injector):
            try:
                answer = self.scenario.act(backend)
            except AgentmError as error:
                is_expected = type(error) is self.scenario.answer
                if not is_expected and not (isinstance(error, StorageIOError) and error.errno == self.injector.code):
                    self._report("lie", f"{type(error).__name__}: {error}")
                return False
            except Exception as error:  # that is the violation
                self._report("untyped", repr(error))
                return False
        if answer != self.scenario.answer:
            self._report("lie", f"it answered {answer!r}")
        return True

    def _judge_contents(self, succeeded: bool) -> None:
        backend = self.store.open(self.root)
        for key in {**self.scenario.stored, **self.scenario.changes}:
            old = self.scenario.stored.get(key)
            new = self.scenario.changes.get(key, old)
            try:
                found: str | None = backend.read(Locator(key))
            except NotFoundError:
                found = None
            except AgentmError as error:
                self._report("torn", f"{key}: {error}")
                continue
            if found not in ((new,) if succeeded else (old, new)):
                self._report("lost" if found in (old, None) else "torn", f"{key} holds {found!r:.40}")
        if succeeded and self.scenario.folder and not backend.exists(Locator(self.scenario.folder)):
            self._report("lost", f"the folder {self.scenario.folder} is not there")

    def _judge_next_writes(self, backend: StorageBackend) -> None:
        """By the same store, by another process, by another thread; the first of them clears up."""
        self._judge_write("the same store", _write_everywhere(backend))
        names = [name for _, folders, files in os.walk(self.root) for name in (*folders, *files)]
        if any(name.startswith(TEMP_PREFIX) for name in names):
            self._report("litter", "a temp file is left after the next write")
        self._judge_write("another process", self.rival.write(self.root))
        said = ["stuck"]
        thread = threading.Thread(
            target=lambda: said.append(_write_everywhere(self.store.open(self.root))), daemon=True
        )
        thread.start()
        thread.join(PATIENCE)
        self._judge_write("another thread", said[-1])

    def _judge_write(self, writer: str, said: str) -> None:
        if said != "written":
            self._report("stuck" if said == "stuck" else "unusable", f"the next write by {writer}: {said}")

    def _report(self, kind: str, what: str) -> None:
        self.outcome.violation(kind, f"{what} ({self.scenario.name}; {self.injector})")


def _open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))
