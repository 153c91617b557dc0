"""Standard output is kept for the answer while plugins run, whichever threads come and go at the same moment."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from agentm_kernel.plugins import StdoutToStderr

if TYPE_CHECKING:
    from collections.abc import Callable


class Flushed(io.StringIO):
    """A stream that lets something happen when it is flushed for the first time after `happens` was set."""

    happens: Callable[[], object] | None = None

    def flush(self) -> None:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        super().flush()


class Visitor(threading.Thread):
    """Somebody who is inside until `leave` is called."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._inside, self._may_leave = threading.Event(), threading.Event()

    def run(self) -> None:
        with StdoutToStderr():
            self._inside.set()
            self._may_leave.wait(10)

    def enter(self, seconds: float = 10.0) -> None:
        self.start()
        self._inside.wait(seconds)

    def leave(self) -> None:
        self._may_leave.set()
        self.join(10)


def test_of_two_who_enter_at_once_the_last_to_leave_gives_it_back() -> None:
    first, second = Visitor(), Visitor()
    with redirect_stdout(Flushed()) as stdout:
        stdout.happens = lambda: second.enter(0.3)  # in the middle of the first one's entry: it has to wait
        first.enter()
        assert sys.stdout is sys.stderr
        first.leave()
        second.leave()
        assert sys.stdout is stdout


def test_who_enters_while_another_leaves_finds_it_as_it_was() -> None:
    first, second = Visitor(), Visitor()
    with redirect_stdout(Flushed()) as stdout:
        first.enter()
        stdout.happens = lambda: second.enter(0.3)  # in the middle of the first one's leaving
        first.leave()
        second.leave()
        assert sys.stdout is stdout
