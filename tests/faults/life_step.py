"""One thing that happens in a life, in words, and what the command answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.life_ledger import Ledger, Spot
    from tests.faults.life_world import Answer

_SAID = re.compile(
    r"^(?:brought back|\w+) (?P<key>p\w+/\S+\.md)(?: to (?P<new>p\w+/\S+\.md))?(?P<rest>.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class Step:
    """One thing that happens, in words."""

    number: int
    what: str
    device: str
    checkout: str
    words: tuple[str, ...] = ()

    @property
    def token(self) -> str:
        return f"tok{self.number}x"

    def __str__(self) -> str:
        return f"{self.number}. {self.device} in {self.checkout}: {' '.join((self.what, *self.words))}"


def run(ledger: Ledger, step: Step, *words: str, text: str = "", more: dict[str, str] | None = None) -> Answer:
    return ledger.world.agentm(step.device, step.checkout, *words, text=text, more=more)


def notes_said(ledger: Ledger, step: Step, answer: Answer) -> list[tuple[Spot, Spot]]:
    """The notes that a command says it changed: where each was, and where it is."""
    default, place = ledger.world.default[step.device], ledger.place_of(step.device, step.checkout)
    said = []
    for line in _SAID.finditer(answer.out):
        spots = []
        for key in (line["key"], line["new"] or line["key"]):
            is_there = not key.startswith("personal/") and (place, key) in answer.changed
            spots.append((place if is_there or (default, key) not in answer.changed else default, key))
        named = re.search(r" in ((?:/|s3://).+)$", line["rest"])
        if named:
            spots[1] = (ledger.world.place_at(named.group(1)), spots[1][1])
        said.append((spots[0] if line["new"] else spots[1], spots[1]))
    return said


def below(answer: Answer, place: str, *names: str) -> set[Spot]:
    """Every file of these projects in a store, before or after."""
    folders = tuple(f"projects/{name}/" for name in names)
    keys = answer.before[place].keys() | answer.after[place].keys()
    return {(place, key) for key in keys if key.startswith(folders)}
