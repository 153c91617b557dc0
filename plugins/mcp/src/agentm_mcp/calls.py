"""Carrying out what the host asks of the store: one request after the other, each with a deadline.

One at a time, because plugins may count on that; the host's own requests are answered meanwhile. A request that is
late is answered as an error and left behind in its thread (nothing in Python can end one), and the next one goes on.
"""

from __future__ import annotations

import time
from _thread import allocate_lock, start_new_thread

from agentm_kernel.plugin import AgentmError
from agentm_mcp.messages import INVALID_REQUEST, ProtocolFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

    from agentm_mcp.messages import Id, Message

MOST_WAITING = 200
MOST_LEFT_BEHIND = 8
_A_LOOK = 0.25


class Cancelled(AgentmError):
    """The host has taken the request back."""


class Work:
    """One request: what to do, how to answer, and whether anybody still wants to know."""

    __slots__ = ("answer", "answered", "finished", "is_cancelled", "message", "run", "seconds")

    def __init__(
        self,
        message: Message,
        run: Callable[[Work], dict[str, object]],
        answer: Callable[[Message, dict[str, object]], None],
        late: float,
    ) -> None:
        self.message, self.run, self.answer, self.seconds = message, run, answer, late
        self.is_cancelled = False
        self.answered = allocate_lock()
        """Taken by the one who answers, for good."""
        self.finished = allocate_lock()
        self.finished.acquire()

    def is_settled(self) -> bool:
        """Whether it was answered, or will not be."""
        return self.answered.locked()

    def check(self) -> None:
        """Raise if the host has cancelled the request."""
        if self.is_cancelled:
            raise Cancelled("the agent host has cancelled this call")


class Calls:
    """The requests that wait, the one that runs, and those that were left behind."""

    def __init__(self, late: Callable[[Work], None]) -> None:
        self._late = late
        self._lock = allocate_lock()
        self._waiting: list[Work] = []
        self._by_id: dict[Id, Work] = {}
        self._left_behind: list[LockType] = []
        self._is_dispatching = False

    def add(self, work: Work) -> None:
        """Have it done in its turn; `ProtocolFault` if there is no room, or its id is in use."""
        key = work.message.id
        assert key is not None
        with self._lock:
            if key in self._by_id:
                raise ProtocolFault(INVALID_REQUEST, "a request with this id is still being worked on", id=key)
            if len(self._waiting) >= MOST_WAITING:
                raise ProtocolFault(INVALID_REQUEST, f"{MOST_WAITING} requests are waiting already", id=key)
            if sum(thread.locked() for thread in self._left_behind) >= MOST_LEFT_BEHIND:
                text = f"{MOST_LEFT_BEHIND} earlier calls hang: the store does not answer. Run `agentm doctor`"
                raise ProtocolFault(INVALID_REQUEST, text, id=key)
            self._by_id[key] = work
            self._waiting.append(work)
            is_first, self._is_dispatching = not self._is_dispatching, True
        if is_first:
            _in_a_thread(self._dispatch)

    def cancel(self, request: object) -> None:
        """The host does not want the answer any more. What is not known was answered already."""
        if not isinstance(request, (str, int)) or isinstance(request, bool):  # `true` is 1 to a dictionary
            return
        work = self._by_id.get(request)
        if work is None:
            return
        work.is_cancelled = True
        try:
            self._waiting.remove(work)
        except ValueError:
            return  # it has begun, and will find out
        self._settle(work)

    def finish(self, seconds: float) -> bool:
        """Wait for what is under way; whether nothing is left."""
        deadline = time.monotonic() + seconds
        while self._is_dispatching and time.monotonic() < deadline:
            time.sleep(0.002)
        return not self._is_dispatching and not any(thread.locked() for thread in self._left_behind)

    # -- threads ----------------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        while True:
            with self._lock:
                try:
                    work = self._waiting.pop(0)
                except IndexError:
                    self._is_dispatching = False
                    return
            _in_a_thread(self._carry_out, work)
            if not _wait(work):
                self._left_behind = [*(thread for thread in self._left_behind if thread.locked()), work.finished]
                if self._settle(work):
                    self._late(work)

    def _carry_out(self, work: Work) -> None:
        try:
            result = work.run(work)
            if self._settle(work):
                work.answer(work.message, result)
        finally:
            work.finished.release()

    def _settle(self, work: Work) -> bool:
        """Whether the answer is still to be given: to the first who asks, and not once it was cancelled."""
        is_first = work.answered.acquire(blocking=False)
        if is_first:
            self._by_id.pop(work.message.id, None)  # type: ignore[arg-type]
        return is_first and not work.is_cancelled


def _in_a_thread(function: Callable[..., None], *arguments: object) -> None:
    """Where a container allows no more threads, without one: other requests have to wait then."""
    try:
        start_new_thread(function, arguments)
    except RuntimeError:
        function(*arguments)


def _wait(work: Work) -> bool:
    """Whether it was finished in time. Only once a tool is loaded is it known how much time it has."""
    started = time.monotonic()
    while (left := work.seconds - (time.monotonic() - started)) > 0:
        if work.finished.acquire(timeout=min(left, _A_LOOK)):
            return True
    return False
