"""What an answer rests on, so that it can be given again for as long as nothing of that has changed.

Whoever looks at a file on the way to an answer says so here, in one line, together with what was seen. Inside of a
`Gathering` this adds up to an `Evidence`, which can tell later, at the price of a few system calls, whether looking
again would show the same. Outside of one it costs next to nothing. Errors are never evidence: what fails is looked at
again by whoever asks.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import _local

from agentm_kernel.errors import AgentmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import TracebackType
    from typing import Protocol, TypeVar

    Place = TypeVar("Place")
    Answer = TypeVar("Answer")

    class Sighting(Protocol):
        """One look at something that may change."""

        @property
        def key(self) -> Hashable:
            """What was looked at."""

        def agrees(self, other: Sighting) -> bool:
            """Whether another look at the same thing showed the same."""

        def holds(self) -> bool:
            """Whether it still shows what it showed; an `OSError` or `AgentmError` counts as no."""


Signature = tuple[int, int, int, int, int]
_SETTLED_AFTER_NS = 2_000_000_000  # the coarsest clock of a file system in use


class Evidence:
    """Everything that was looked at while one answer was found."""

    __slots__ = ("_sightings", "is_complete")

    def __init__(self) -> None:
        self._sightings: dict[Hashable, Sighting] = {}
        self.is_complete = True
        """Whether nothing else had a say. What is not complete never holds."""

    def add(self, sighting: Sighting) -> None:
        if not self._sightings.setdefault(sighting.key, sighting).agrees(sighting):
            self.is_complete = False  # it changed meanwhile: the answer is neither an old nor a new one

    def include(self, other: Evidence) -> None:
        """An answer that was used on the way rests on its own evidence, and so does the one that used it."""
        for sighting in other._sightings.values():
            self.add(sighting)
        self.is_complete = self.is_complete and other.is_complete

    def holds(self) -> bool:
        """Whether looking at everything again shows the same."""
        if not self.is_complete:
            return False
        try:
            for sighting in self._sightings.values():
                if not sighting.holds():
                    return False
        except (OSError, AgentmError):
            return False
        return True


# ------------------------------------------------------------------------------------------------ gathering


class _Current(_local):
    evidence: Evidence | None = None


_current = _Current()  # of each thread: what one thread looks at is no evidence for another's answer


class Gathering:
    """`with Gathering() as evidence:` collects what this thread looks at; a gathering around it collects it too."""

    __slots__ = ("_evidence", "_outer")

    def __enter__(self) -> Evidence:
        self._outer = _current.evidence
        self._evidence = _current.evidence = Evidence()
        return self._evidence

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.evidence = self._outer
        if value is not None:
            self._evidence.is_complete = False  # what was not looked at any more might have changed the answer
        rely_on(self._evidence)


def rely_on(evidence: Evidence) -> None:
    """What is being found out rests on an earlier answer, and so on its evidence."""
    if _current.evidence is not None:
        _current.evidence.include(evidence)


def observe(look: Callable[[Place], Answer], place: Place) -> Answer:
    """`look(place)`, remembered as evidence. Looking again must be cheap."""
    answer = look(place)
    if _current.evidence is not None:
        _current.evidence.add(_Look(look, place, answer))
    return answer


def saw_file(path: str, trusted: Signature | None, content: object, read: Callable[[str], object] | None) -> None:
    """A file was read. `trusted` is the `settled_signature` it had before; without one, `read` compares contents."""
    if _current.evidence is not None:
        _current.evidence.add(_File(path, trusted, content, read))


def saw_nothing(path: str) -> None:
    """There was nothing at `path`, not even a link that leads nowhere."""
    if _current.evidence is not None:
        _current.evidence.add(_Nothing(path))


def saw_process() -> None:
    """The environment and the search path had a say."""
    if _current.evidence is not None:
        _current.evidence.add(_Process())


def saw_more() -> None:
    """Something had a say that cannot be looked at again cheaply: the answer is not to be kept."""
    if _current.evidence is not None:
        _current.evidence.is_complete = False


# ------------------------------------------------------------------------------------------------ signatures


def signature_of(status: os.stat_result) -> Signature:
    """What of a file's status changes with its content."""
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def settled_signature(status: os.stat_result) -> Signature | None:
    """The signature, if any later change of the content must show in it.

    A file system's clock ticks slowly: two changes within one tick can look alike. Until the tick is over for
    certain, only the bytes can tell.
    """
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_AFTER_NS:
        return signature_of(status)
    return None


# ------------------------------------------------------------------------------------------------ sightings


class _Look:
    __slots__ = ("answer", "_look", "_place")

    def __init__(self, look: Callable[[Place], Answer], place: Place, answer: Answer) -> None:
        self._look: Callable[..., object] = look
        self._place = place
        self.answer = answer

    @property
    def key(self) -> Hashable:
        return self._look, self._place

    def agrees(self, other: Sighting) -> bool:
        return isinstance(other, _Look) and other.answer == self.answer

    def holds(self) -> bool:
        return self._look(self._place) == self.answer


class _Nothing:
    __slots__ = ("key",)

    def __init__(self, path: str) -> None:
        self.key = path

    def agrees(self, other: Sighting) -> bool:
        return isinstance(other, _Nothing)

    def holds(self) -> bool:
        try:
            os.lstat(self.key)
        except FileNotFoundError:
            return True
        return False


class _File:
    __slots__ = ("content", "_read", "trusted", "key")

    def __init__(
        self, path: str, trusted: Signature | None, content: object, read: Callable[[str], object] | None
    ) -> None:
        self.key = path
        self.trusted = trusted
        self.content = content
        self._read = read

    def agrees(self, other: Sighting) -> bool:
        if not isinstance(other, _File):
            return False
        return self.trusted == other.trusted if self._read is None else self.content == other.content

    def holds(self) -> bool:
        status = os.stat(self.key)
        return signature_of(status) == self.trusted or self._has_same_content(status)

    def _has_same_content(self, status: os.stat_result) -> bool:
        if self._read is None or self._read(self.key) != self.content:
            return False
        self.trusted = settled_signature(status)  # of before the reading, so it is not that of a later change
        return True


class _Process:
    __slots__ = ("environment", "search_path")
    key = "process"

    def __init__(self) -> None:
        self.environment = dict(_environment())
        self.search_path = list(sys.path)

    def agrees(self, other: Sighting) -> bool:
        if not isinstance(other, _Process):
            return False
        return (self.environment, self.search_path) == (other.environment, other.search_path)

    def holds(self) -> bool:
        return self.environment == _environment() and self.search_path == sys.path


def _environment() -> dict[object, object]:
    """The table behind `os.environ`: comparing it as it is costs a hundredth of decoding it first."""
    table: dict[object, object] = vars(os.environ).get("_data", os.environ)
    return table
