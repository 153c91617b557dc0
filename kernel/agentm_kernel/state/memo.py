"""Answers that are asked for thousands of times a second, given again while everything they rest on is as it was.

An answer is kept with its evidence (`files/gathering.py`): the files that were read or found missing on the way, the
environment, the search path. Before it is given again, each of these is looked at once more. So a marker or a
configuration that was replaced, or a store that has vanished, is seen by the very next call, and nothing ever has to
be told that something changed. Failures are not kept: they are found out, and raised, anew.
"""

from __future__ import annotations

from agentm_kernel.files.gathering import Gathering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    from agentm_kernel.files.gathering import Evidence

    T = TypeVar("T")


class Kept:
    """One answer and what it rests on."""

    __slots__ = ("answer", "evidence")

    def __init__(self, answer: Any, evidence: Evidence) -> None:
        self.answer = answer
        self.evidence = evidence


def keep(find: Callable[[], object]) -> Kept:
    """The answer of `find`, with everything that it looked at."""
    with Gathering() as evidence:
        answer = find()
    return Kept(answer, evidence)


class Memo:
    """The answers to the last few questions. Threads may share one: at worst, two find out the same thing."""

    def __init__(self, limit: int = 32) -> None:
        self._limit = limit
        self._kept: dict[Hashable, Kept] = {}

    def answer(self, question: Hashable, find: Callable[[], T]) -> T:
        """The kept answer to `question` if it holds, else that of `find`."""
        kept = self._kept.get(question)
        if kept is not None and kept.evidence.holds():
            kept.evidence.lend()
        else:
            kept = keep(find)
            if len(self._kept) >= self._limit:
                self._kept = {}
            self._kept[question] = kept
        answer: T = kept.answer
        return answer
