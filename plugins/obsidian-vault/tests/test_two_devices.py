"""Two devices, a vault folder on each, and a sync tool between them that is late, out of order and interrupted.

Whatever it does, an edit that was acknowledged is in the note or in a conflict copy that is listed, on both devices.
The script is that of every store which two devices share; `make faults ARGS=two-devices` runs it at full length.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from tests.faults.edit_script import PROGRESS, Script
from two_vaults import TwoVaults

from agentm_kernel.files.swap import SwapPublisher
from agentm_obsidian_vault.resolve import MINE, UNION, settle
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from pathlib import Path

EDITS = 150


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoVaults:
    chance = random.Random(os.environ.get("AGENTM_SEED", "two devices"))
    monkeypatch.setattr(os, "urandom", chance.randbytes)  # names of temp files: one seed, one story
    return TwoVaults(tmp_path, chance)


@pytest.fixture
def script(pair: TwoVaults) -> Script:
    return Script(pair, pair._chance)


def test_both_devices_know_the_store_for_one(pair: TwoVaults) -> None:
    pair.settle()
    first, second = (store.stamp_text() for store in pair.stores)
    assert first == second is not None


def test_every_acknowledged_edit_is_in_the_note_or_in_a_listed_copy_and_resolving_merges_them(
    pair: TwoVaults, script: Script
) -> None:
    script.run(EDITS)
    assert len(script.acknowledged) > EDITS / 2
    assert pair.tool.made_copies > 0
    assert [script.missing(side) for side in (0, 1)] == [[], []]

    vault = pair.vault(0)
    for conflict in find_conflicts(vault):
        settle(pair.stores[0], vault, conflict, UNION if conflict.base == PROGRESS else MINE)
    pair.settle()
    for side in (0, 1):
        assert find_conflicts(pair.vault(side)) == []
        replica = pair.replicas[side]
        kept = [replica.root / path for path in replica.paths() if path.startswith("_meta/conflicts/")]
        assert script.missing(side, [path.read_text() for path in kept]) == []
        progress = pair.vault(side).read(PROGRESS).splitlines()
        assert [line for line, note in script.acknowledged.items() if note == PROGRESS and line not in progress] == []


def test_a_store_that_just_renames_loses_edits_here(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the exchange, the same story ends with edits that are nowhere."""
    monkeypatch.setattr(SwapPublisher, "__call__", lambda _, directory, temp, name: directory.replace(temp, name))
    for _ in range(10):
        script.run(100)
        if script.missing(0):
            return
    pytest.fail("nothing was lost in 1,000 edits")
