"""The script of two devices: agents on both add lines to a few notes of one store, through the verbs and as files.

Whatever carries notes from one device to the other is late, works in the middle of writes and meets edits on both
sides. Each line that an agent was told is written must be found again: in its note, or in a conflict copy of it that
is listed. Every store that two devices can share runs the same script.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol
from unittest import mock

from agentm_kernel import AgentmError, Locator, update
from agentm_kernel.files import atomic

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

    from agentm_kernel.plugin import StorageBackend

HARNESS = Locator("projects/demo/_harness")
PROGRESS, PLAN, NOTE = HARNESS.child("progress.md"), HARNESS.child("PLAN.md"), Locator("projects/demo/idea.md")
NOTES = (PROGRESS, PLAN, NOTE)


class Pair(Protocol):
    """Two devices of one store, numbered 0 and 1."""

    @property
    def stores(self) -> list[StorageBackend]:
        """The store, as each device has it."""

    def file(self, side: int, note: Locator) -> str | None:
        """The file in which agents of this device edit the note; `None` where it is not one, or not at hand."""

    def step(self) -> None:
        """Whatever carries notes between the devices does a little of its work."""

    def meanwhile(self, side: int) -> None:
        """In the middle of a write on this device, others are at work."""

    def settle(self) -> None:
        """Until nothing is left to be carried."""

    def versions(self, side: int, note: Locator) -> list[str]:
        """The note as this device reads it, and then each conflict copy of it that is listed there."""


class Verdict(NamedTuple):
    """What a script came to."""

    acknowledged: int
    lost: list[str]
    """The acknowledged edits that a device finds nowhere, with that device."""
    copies: int


@dataclass
class Script:
    """What the agents did, and what they were told."""

    pair: Pair
    chance: random.Random
    acknowledged: dict[str, Locator] = field(default_factory=dict)
    refused: int = 0
    _side: int = 0
    _is_interrupted: bool = False

    def run(self, edits: int) -> None:
        """So many edits, and everything that happens between and inside them."""
        with self._interrupting():
            for _ in range(edits):
                self.edit()
                for _ in range(self.chance.choice([0, 0, 1, 3, 8])):
                    self.pair.step()
            self.pair.settle()
        self._is_interrupted = True  # what was edited in the middle of the last step is still to be carried
        self.pair.settle()
        self._is_interrupted = False

    def edit(self) -> None:
        """One agent adds a line to one note."""
        self._side, note = self.chance.randrange(2), self.chance.choice([PROGRESS, *NOTES])
        line = f"- edit {len(self.acknowledged) + self.refused:05} on device {self._side}"
        file = self.pair.file(self._side, note) if self.chance.random() < 0.3 else None
        if file is not None:
            self._append(file, note, line)
            return
        try:
            update(self.pair.stores[self._side], note, lambda text: f"{text or ''}{line}\n", timeout=5)
        except AgentmError:
            self.refused += 1
        else:
            self.acknowledged[line] = note

    def missing(self, side: int, elsewhere: Iterable[str] = ()) -> list[str]:
        """Acknowledged edits that this device finds nowhere; `elsewhere` are texts of any note."""
        other = {line for text in elsewhere for line in text.splitlines()}
        found = {
            note: other.union(*(text.splitlines() for text in self.pair.versions(side, note)))
            for note in {*self.acknowledged.values()}
        }
        return [line for line, note in self.acknowledged.items() if line not in found[note]]

    def verdict(self) -> Verdict:
        lost = [f"device {side}: {line}" for side in (0, 1) for line in self.missing(side)]
        return Verdict(len(self.acknowledged), lost, self.copies(0))

    def copies(self, side: int) -> int:
        """How many conflict copies are listed."""
        return sum(len(self.pair.versions(side, note)) - 1 for note in {*self.acknowledged.values()})

    # -- in the middle ------------------------------------------------------------------------------------------

    @contextmanager
    def _interrupting(self) -> Iterator[None]:
        """Just before a written file takes over its name, others go on."""
        write_temp = atomic.write_temp

        def interrupted(*given: object) -> None:
            write_temp(*given)  # type: ignore[arg-type]
            self.interrupt()

        with mock.patch.object(atomic, "write_temp", interrupted):
            yield

    def interrupt(self) -> None:
        """What others do in the middle of a write; nobody interrupts them in turn."""
        if self._is_interrupted:
            return
        self._is_interrupted = True
        try:
            if self.chance.random() < 0.1:
                self._edit_a_file()
            self.pair.meanwhile(self._side)
        finally:
            self._is_interrupted = False

    def _edit_a_file(self) -> None:
        side, note = self.chance.randrange(2), self.chance.choice(NOTES)
        file = self.pair.file(side, note)
        if file is not None:
            self._append(file, note, f"- edit of a file, number {len(self.acknowledged):05}, on device {side}")

    def _append(self, file: str, note: Locator, line: str) -> None:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "a", encoding="utf-8") as opened:
            opened.write(f"{line}\n")
        self.acknowledged[line] = note
