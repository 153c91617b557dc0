"""Evidence for one answer: everything that was looked at on the way to it (see `evidence`), and whether it holds.

It can be told at any later time, at the price of a few system calls, whether looking again would show the same: by
the status of each file where that is certain, by reading it once more where it is not.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.errors import AgentmError
from agentm_kernel.files.evidence import current, settled_signature, signature_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import TracebackType
    from typing import Protocol

    from agentm_kernel.files.evidence import Answer, Place, Signature

    class Sighting(Protocol):
        """One look at something that may change."""

        @property
        def key(self) -> Hashable:
            """What was looked at."""

        def agrees(self, other: Sighting) -> bool:
            """Whether another look at the same thing showed the same."""

        def holds(self) -> bool:
            """Whether it still shows what it showed; an `OSError` or `AgentmError` counts as no."""


class Evidence:
    """What one answer rests on."""

    __slots__ = ("_sightings", "is_complete")

    def __init__(self) -> None:
        self._sightings: dict[Hashable, Sighting] = {}
        self.is_complete = True
        """Whether nothing else had a say. What is not complete never holds."""

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

    def lend(self) -> None:
        """An answer that is used on the way to another one lends it its evidence."""
        borrower = current.evidence
        if borrower is not None:
            for sighting in self._sightings.values():
                borrower.add(sighting)
            borrower.is_complete = borrower.is_complete and self.is_complete

    def add(self, sighting: Sighting) -> None:
        if not self._sightings.setdefault(sighting.key, sighting).agrees(sighting):
            self.is_complete = False  # it changed meanwhile: the answer is neither an old nor a new one

    def saw(self, look: Callable[[Place], Answer], place: Place, answer: Answer) -> None:
        self.add(_Look(look, place, answer))

    def saw_file(
        self, path: str, trusted: Signature | None, content: object, read: Callable[[str], object] | None
    ) -> None:
        self.add(_File(path, trusted, content, read))

    def saw_nothing(self, path: str) -> None:
        self.add(_Nothing(path))

    def saw_process(self) -> None:
        self.add(_Process())


class Gathering:
    """`with Gathering() as evidence:` collects what this thread looks at; a gathering around it collects it too."""

    __slots__ = ("_evidence", "_outer")

    def __enter__(self) -> Evidence:
        self._outer = current.evidence
        self._evidence = current.evidence = Evidence()
        return self._evidence

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        current.evidence = self._outer
        if value is not None:
            self._evidence.is_complete = False  # what was not looked at any more might have changed the answer
        self._evidence.lend()


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
