"""Notes are created and changed by several processes while the keys of their store change again and again: whatever
was acknowledged can be read afterwards, and nobody takes what another process of this device did for tampering.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from unittest import mock

from agentm_encryption.key_source import KeySource, newest_epoch
from agentm_kernel import update
from agentm_kernel.plugin import ABSENT, AgentmError, ConcurrentModificationError, Device, Locator
from tests.faults.harness import Intensity, Outcome, scratch
from tests.faults.sealing import WORKS, Laptop
from tests.faults.workers import Crew, start_together, wait_for_start

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

WRITERS = 4
NOTES = 20
SHARED = Locator("projects/race/shared.md")


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("notes and lines written while keys changed")
    _race(outcome, turns=intensity.pick(short=40, full=1500))
    broken = Outcome("control")
    with mock.patch.object(KeySource, "newest_keys", lambda source: source.keys):
        _race(broken, turns=40)
    outcome.control("writers that never look for new keys", broken)
    return outcome


@dataclass
class _Written:
    """What one writer was told."""

    notes: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    conflicts: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Anything but a conflict: nobody tampers here."""


def _race(outcome: Outcome, *, turns: int) -> None:
    with scratch(in_memory=True) as folder, Crew() as crew:
        laptop = Laptop(folder)
        laptop.fill(NOTES)
        laptop.run(WORKS["init"])
        first = newest_epoch(laptop.selected.backend)
        writers = [crew.start(_write, laptop.environ, number, turns) for number in range(WRITERS)]
        start_together(writers)
        while not all(writer.has_reported() for writer in writers):
            laptop.run(WORKS["rotate"], may_be_done=True)  # it may give up on a note that keeps changing, and says so
        written = [writer.receive() for writer in writers]
        try:
            laptop.run(WORKS["rotate"])  # now that nobody writes, no note may be left behind
        except AgentmError as error:
            outcome.violation("left", str(error))
        _check(outcome, laptop, written)
        outcome.measured["epochs"] = newest_epoch(laptop.selected.backend) - first
    outcome.measured["conflicts, all typed"] = sum(one.conflicts for one in written)


def _write(connection: Connection, environ: Mapping[str, str], number: int, turns: int) -> None:
    """As one process that lives through all of it."""
    store = Device.now(environ).store(read_only=False)
    written = _Written()
    wait_for_start(connection)
    for turn in range(turns):
        locator, text = Locator(f"projects/race/w{number}/n{turn}.md"), f"{number}.{turn}\n"
        try:
            store.write(locator, text, if_match=ABSENT)
            written.notes[locator.key] = text
            update(store, SHARED, partial(_with_line, text))
            written.lines.append(text)
            if store.read(locator) != text:
                written.refused["another text"] += 1
        except ConcurrentModificationError:
            written.conflicts += 1
        except Exception as error:
            written.refused[f"{type(error).__name__}: {error}"[:300]] += 1
    connection.send(written)


def _with_line(line: str, text: str | None) -> str:
    return (text or "") + line


def _check(outcome: Outcome, laptop: Laptop, written: list[_Written]) -> None:
    store = Device.now(laptop.environ).store()
    lines = Counter(store.read(SHARED).splitlines(keepends=True))
    for one in written:
        outcome.count += len(one.notes) + len(one.lines)
        for reason, times in one.refused.items():
            outcome.violation("refused", f"{times} times: {reason}")
        for key, text in one.notes.items():
            try:
                found = store.read(Locator(key))
            except AgentmError as error:
                found = str(error)
            if found != text:
                outcome.violation("lost", f"{key}: {found}"[:300])
        for line in one.lines:
            if lines[line] != 1:
                outcome.violation("lost", f"{line!r} was acknowledged and is there {lines[line]} times")
