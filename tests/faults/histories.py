"""What several processes did to one note, and whether a single list of lines explains all of it.

The model is a sequence: an append puts its line at the end, a read gives the whole text. A recorded history is right
if every acknowledged line is there exactly once, if every text that was read is a beginning of the final one, and if
the order agrees with time: what was acknowledged before something else began comes before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from agentm_kernel.plugin import content_hash

if TYPE_CHECKING:
    from tests.faults.harness import Outcome


@dataclass(frozen=True)
class Append:
    """One call, from `began` to `ended` on the machine's monotonic clock; not acknowledged means it was refused."""

    line: str
    began: float
    ended: float
    acknowledged: bool


@dataclass(frozen=True)
class Read:
    length: int
    digest: str
    """The content hash: texts would fill the memory."""
    began: float
    ended: float


@dataclass
class History:
    appends: list[Append] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    """Typed refusals, by class."""
    untyped: list[str] = field(default_factory=list)
    """Errors that are no error of ours."""

    def add(self, other: History) -> None:
        self.appends += other.appends
        self.reads += other.reads
        self.refused += other.refused
        self.untyped += other.untyped

    @property
    def acknowledged(self) -> list[Append]:
        return [append for append in self.appends if append.acknowledged]


def check(history: History, final: str, outcome: Outcome) -> None:
    """Report to `outcome` whatever the sequence model does not explain."""
    for error in history.untyped:
        outcome.violation("untyped", error)
    lines = final.splitlines(keepends=True)
    _check_lines(history, lines, outcome)
    _check_order(history, lines, outcome)
    _check_reads(history, final, outcome)


def _check_lines(history: History, lines: list[str], outcome: Outcome) -> None:
    stored = Counter(lines)
    for append in history.acknowledged:
        if not stored[append.line]:
            outcome.violation("lost", f"{append.line!r} was acknowledged and is not there")
    for line, times in stored.items():
        if times > 1:
            outcome.violation("doubled", f"{line!r} is there {times} times")
    accepted = {append.line for append in history.acknowledged}
    for line in stored.keys() - accepted:
        outcome.violation("phantom", f"{line!r} is there and was never acknowledged")


def _check_order(history: History, lines: list[str], outcome: Outcome) -> None:
    calls = {append.line: append for append in history.acknowledged}
    latest_began, latest_line = 0.0, ""
    for line in lines:
        if line not in calls:
            continue
        if calls[line].ended < latest_began:
            outcome.violation("order", f"{line!r} ended before {latest_line!r} began, and stands after it")
        if calls[line].began > latest_began:
            latest_began, latest_line = calls[line].began, line


def _check_reads(history: History, final: str, outcome: Outcome) -> None:
    ends = _ends(final)
    calls = [append for append in history.acknowledged if append.line in ends]
    by_end = sorted(calls, key=lambda append: append.ended)
    must_have = list(accumulate((ends[append.line] for append in by_end), max, initial=0))
    by_start = sorted(calls, key=lambda append: -append.began)
    must_lack = list(accumulate((ends[append.line] for append in by_start), min, initial=len(final) + 1))
    for read in history.reads:
        if content_hash(final[: read.length]) != read.digest:
            outcome.violation("torn", f"a read gave {read.length} characters that never were the note")
        acknowledged_before = bisect_left(by_end, read.began, key=lambda append: append.ended)
        if read.length < must_have[acknowledged_before]:
            outcome.violation("stale", "a read lacks a line that was acknowledged before it began")
        begun_after = bisect_left(by_start, -read.ended, key=lambda append: -append.began)
        if read.length >= must_lack[begun_after]:
            outcome.violation("early", "a read has a line whose writing began after it")


def _ends(final: str) -> dict[str, int]:
    """Each line, and how long the note is up to the end of it."""
    lines = final.splitlines(keepends=True)
    return dict(zip(lines, accumulate(map(len, lines)), strict=True))
