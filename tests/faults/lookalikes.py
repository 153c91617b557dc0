"""Two devices make notes whose names look like conflict copies of each other's, and a sync tool brings them together.

Neither device can know what the other one calls its notes. A name that people give (`Sprint 2.md` beside `Sprint.md`)
must be a note on both devices afterwards, with its own text; one that only a tool writes must be a note or be listed
as a copy. Nothing may be read by neither way.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from two_vaults import TwoVaults

from agentm_kernel import AgentmError, Locator
from agentm_obsidian_vault import medium
from agentm_obsidian_vault.conflicts import conflict_copy, suspect_copy
from agentm_obsidian_vault.survey import find_conflicts, raw_files
from tests.faults.harness import Intensity, Outcome, scratch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from agentm_obsidian_vault import VaultBackend

_WORDS = ("Sprint", "PLAN-phase", "notes", "adr", "Réunion", "会議", "v1.2", "Chapter")
_OF_PEOPLE = ("", " 2", " 12", "-2", "-10", " (1)", " - Copy", " [Conflict]", "-macbook", " (conflicted)")
_OF_TOOLS = (
    "-DESKTOP-AB12CD3",
    ".sync-conflict-20260501-101112-ABCDEF7",
    " (Ada's conflicted copy 2026-05-01)",
    " (Conflicted copy laptop 202605011011)",
)
_CHANCES = 20


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("notes of two devices that look like each other's copies")
    rounds = intensity.pick(short=2, full=20)
    for number in range(rounds):
        _run(outcome, intensity.random(f"names {number}"), nullcontext())
    broken = Outcome("control")
    for number in range(_CHANCES):  # it takes a note that comes before the one that it looks like a copy of
        guess = mock.patch("agentm_obsidian_vault.conflicts.conflict_copy", _by_name)
        _run(broken, intensity.random(f"control {number}"), guess)
        if broken.violations:
            break
    outcome.control("taking_the_name_for_proof", broken)
    return outcome


def _by_name(name: str, beside: Callable[[str], bool], devices: Iterable[str] = ()) -> Any:
    return conflict_copy(name, beside, devices) or suspect_copy(name, beside, devices)


def _run(outcome: Outcome, chance: random.Random, build: AbstractContextManager[Any]) -> None:
    with scratch(in_memory=True) as folder, build, mock.patch.object(medium, "may_be_copy", return_value=True):
        pair = TwoVaults(Path(folder), chance)
        names = [f"{word}{mark}.md" for word in _WORDS for mark in (*_OF_PEOPLE, *_OF_TOOLS)]
        chance.shuffle(names)
        written: dict[str, str] = {}
        for number, name in enumerate(names):
            text = f"What {name} says, {number}.\n"
            try:
                pair.stores[number % 2].write(Locator(f"notes/{name}"), text)
            except AgentmError:
                continue  # refused, and said so: the name is a tool's, beside a note that this device knows
            written[name] = text
            for _ in range(chance.choice((0, 0, 3))):
                pair.step()
        pair.settle()
        outcome.count += len(written)
        for side in (0, 1):
            _judge(outcome, pair.vault(side), written)


def _judge(outcome: Outcome, vault: VaultBackend, written: dict[str, str]) -> None:
    listed = {locator.name for locator in vault.list(Locator("notes"))}
    copies = {found.copy.locator for found in find_conflicts(vault) if not found.is_suspect}
    for name, text in written.items():
        note = Locator(f"notes/{name}")
        is_note = name in listed and vault.exists(note) and vault.read(note) == text
        is_copy = note in copies and raw_files(vault).read(note) == text
        is_of_tool = any(name.endswith(f"{mark}.md") for mark in _OF_TOOLS)
        if not is_note and not (is_of_tool and is_copy):
            outcome.violation("hidden", f"{name} is a note no more{', but a copy' if is_copy else ''}")
