"""Real processes for the checks that need them: started, watched and, where a check says so, killed.

A fresh interpreter rather than a fork: network clients and their threads do not survive one, and the writers that a
store meets in life were not forked from each other either.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentm_devkit.conformance.subject import OpenStore

_TO_OPEN = 60.0
"""Seconds for a process to import a backend and open the store, on the slowest machine."""

PROMPTLY = 5.0
"""Seconds for a verb that has no reason to wait: a thousand times what it takes, half of what a lock may."""


class Process:
    """`task(child, *arguments)` in a process of its own. It opens the store, says so, and waits for `go`."""

    def __init__(
        self,
        open_store: OpenStore,
        scratch: str,
        task: Callable[..., object],
        arguments: tuple[Any, ...],
        *,
        log: str,
        limit: float,
        environ: dict[str, str] | None = None,
    ) -> None:
        job = _packed(open_store, scratch, task, arguments)
        self._log = log
        self._timed_out = False
        self._killed = False
        with open(log, "wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
                [sys.executable, "-c", _bootstrap()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(environ or {})},
            )
        self._limit = limit
        self._watchdog = self._watch(_TO_OPEN)
        self._send(job)

    def _watch(self, seconds: float) -> threading.Timer:
        self._patience = seconds
        timer = threading.Timer(seconds, self._give_up)
        timer.daemon = True
        timer.start()
        return timer

    def _give_up(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError:
            pass  # it is dead already: whoever asks for its result will tell why

    def _received(self) -> Iterator[tuple[str, Any]]:
        assert self._process.stdout is not None
        while True:
            try:
                yield pickle.load(self._process.stdout)  # noqa: S301 - written by our own child
            except (EOFError, pickle.UnpicklingError):  # it ended, perhaps in the middle of a message
                return

    # -- what a check does with it --------------------------------------------------------------------------

    def ready(self) -> None:
        """Wait until the process has opened the store."""
        for kind, value in self._received():
            if kind == "ready":
                return
            raise Violation(f"another process could not open the store: {value}")
        raise self._death()

    def go(self) -> None:
        """Let the task begin."""
        self.ready()
        self.begin()

    def begin(self) -> None:
        self._watchdog.cancel()
        self._watchdog = self._watch(self._limit)
        self._send(b"go")

    def said(self) -> Iterator[Any]:
        """What the task says while it runs, until it ends or the check kills it."""
        for kind, value in self._received():
            if kind == "said":
                yield value
            elif kind == "failed":
                raise Violation(f"in another process, {value}")
            else:
                return
        if not self._killed:
            raise self._death()

    def result(self) -> Any:
        """What the task returned. Its failure is the check's failure."""
        for kind, value in self._received():
            if kind == "returned":
                return value
            if kind == "violated":
                raise Violation(value)
            if kind == "not applicable":
                raise NotApplicable(value)
            if kind == "failed":
                raise Violation(f"in another process, {value}")
        raise self._death()

    def _death(self) -> Violation:
        status = self._process.wait()
        if self._timed_out:
            return Violation(f"a process hung: it was still busy after {self._patience:g} s")
        with open(self._log, encoding="utf-8", errors="replace") as log:
            lines = log.read().strip().splitlines() or ["it said nothing"]
        return Violation(f"a process ended with status {status}: {lines[-1]}")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it the way that leaves it no say: SIGKILL, or what the platform has in its place."""
        self._killed = True
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self._watchdog.cancel()
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass  # something for the dead process was still in the buffer


def together(processes: list[Process]) -> list[Any]:
    """Let processes begin as one, and return what each returned."""
    begin_together(processes)
    return [process.result() for process in processes]


def begin_together(processes: Iterable[Process]) -> None:
    """Let processes begin as one, once all are ready."""
    started = list(processes)
    for process in started:
        process.ready()
    for process in started:
        process.begin()


def _bootstrap() -> str:
    paths = [path for path in sys.path if isinstance(path, str)]
    return f"import sys; sys.path[:] = {paths!r}; from agentm_devkit.conformance.worker import main; main()"


def _packed(open_store: OpenStore, scratch: str, task: Callable[..., object], arguments: tuple[Any, ...]) -> bytes:
    try:
        work = pickle.dumps((open_store, task, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Violation(
            f"another process cannot import the function that opens the store ({error}): "
            "make it a function or a class of a module, not a lambda or a local function"
        ) from None
    return pickle.dumps((scratch, _home(open_store), work))


def _home(open_store: OpenStore) -> tuple[str, str] | None:
    """The module that the function comes from, and its file: a test module cannot be imported by its name alone."""
    name = getattr(open_store, "__module__", None) or type(open_store).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return (name, file) if file else None
