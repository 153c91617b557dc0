"""How long a verb may take, and what it does between one attempt and the next."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from agentm_bucket.failures import Failure, RequestFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_bucket.place import Timing

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


class Deadline:
    """The time that one verb has. A request is begun only if it can end in time."""

    def __init__(self, timing: Timing) -> None:
        self._end = time.monotonic() + timing.deadline
        self._attempt = timing.attempt
        self._pause = _FIRST_PAUSE

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - time.monotonic()

    def pause(self) -> bool:
        """Wait a little, longer every time and never in step with others; `False` if no attempt fits in after it."""
        pause = random.uniform(0, self._pause)
        if time.monotonic() + pause + self._attempt > self._end:
            return False
        time.sleep(pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return True

    def check(self) -> None:
        """Before every request: one that could not end in time is not begun."""
        if time.monotonic() + self._attempt > self._end:
            raise RequestFailed(Failure.LATE, "there was no answer within the time allowed")


def within(seconds: float, action: Callable[[], T]) -> T:
    """What `action` comes to, if that takes no longer than `seconds`; otherwise the request counts as lost.

    For what has no such limit itself: a listing of many pages, a host name that is looked up. The thread that is left
    behind ends with its request, and keeps no process alive.
    """
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(action())
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise RequestFailed(Failure.UNCLEAR, "the server cannot be reached, or did not answer in time") from None
