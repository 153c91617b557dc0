"""Processes of a campaign: forked, talked to through a pipe, and never left behind."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from types import TracebackType

HANG = 60.0
"""Seconds after which a silent process counts as hanging, on however busy a machine."""

_fork = multiprocessing.get_context("fork")


class Stuck(Exception):
    """A process said nothing for longer than anything it does may take, or died without a word."""


class Worker:
    """A forked process that runs `work(connection, *arguments)`."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self._ours, theirs = _fork.Pipe()
        self._process = _fork.Process(target=work, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def receive(self, seconds: float = HANG) -> Any:
        """The next thing the process sends; `Stuck` when it sends nothing."""
        if not self._ours.poll(seconds):
            raise Stuck(f"process {self.pid} was silent for {seconds:g} s")
        try:
            return self._ours.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(HANG)
            raise Stuck(f"process {self.pid} ended with {self._process.exitcode} before it reported") from None

    def fileno(self) -> int:
        """For `multiprocessing.connection.wait`."""
        return self._ours.fileno()

    def has_reported(self, seconds: float = 0.0) -> bool:
        return self._ours.poll(seconds)

    def tell(self, message: Any = None) -> None:
        try:
            self._ours.send(message)
        except BrokenPipeError:
            raise Stuck(f"process {self.pid} ended before it was told to") from None

    def signal(self, number: signal.Signals) -> None:
        if self._process.is_alive():  # one that has ended by itself is reaped here, and its number may be another's
            os.kill(self.pid, number)

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._ours.close()


class Crew:
    """The workers of one experiment; leaving the block ends them, paused ones included."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []

    def start(self, work: Callable[..., None], *arguments: Any) -> Worker:
        worker = Worker(work, *arguments)
        self._workers.append(worker)
        return worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.end()


def wait_for_start(connection: Connection) -> None:
    """Report readiness and wait for the starting shot, so that nobody has a head start."""
    connection.send("ready")
    connection.recv()


def start_together(workers: list[Worker]) -> None:
    for worker in workers:
        worker.receive()
    for worker in workers:
        worker.tell()
