"""How long a verb may take, and what it does between one attempt and the next."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from agentm_bucket.failures import Failure, RequestFailed

if TYPE_CHECKING:
    from agentm_bucket.place import Timing

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


class Deadline:
    """The time that one verb has. A request is begun only if it can end in time."""

    def __init__(self, timing: Timing) -> None:
        self._end = time.monotonic() + timing.deadline
        self._attempt = timing.attempt
        self._pause = _FIRST_PAUSE

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
