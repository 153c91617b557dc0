"""Two devices, a vault folder on each, and a sync tool between them: one that is late, out of order and interrupted,
more than any real one, and the real Syncthing.

Whatever it does, an edit that was acknowledged is in the note or in a conflict copy that is listed, on both devices.
The script is that of every store which two devices share; `make faults ARGS=two-devices` runs it at full length.
"""

from __future__ import annotations

import os
import random
from functools import partial
from typing import TYPE_CHECKING

import pytest
from syncthing import Syncthing, is_installed
from tests.faults.edit_script import PROGRESS, Script
from two_vaults import SyncTool, TwoVaults

from agentm_kernel.files.swap import SwapPublisher
from agentm_obsidian_vault.resolve import MINE, UNION, settle
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from two_vaults import Start

EDITS = 150
EDITS_WITH_SYNCTHING = 40  # each takes a good part of a second
with_syncthing = [
    pytest.mark.skipif(not is_installed(), reason="syncthing is not installed"),
    pytest.mark.timeout(400),
]


@pytest.fixture(params=[SyncTool, pytest.param(Syncthing, marks=with_syncthing)])
def pair(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoVaults]:
    yield from _started(request.param, tmp_path, monkeypatch)


def _started(tool: Start, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoVaults]:
    chance = random.Random(os.environ.get("AGENTM_SEED", "two devices"))
    monkeypatch.setattr(os, "urandom", chance.randbytes)  # names of temp files: one seed, one story
    pair = TwoVaults(folder, chance, tool)
    yield pair
    pair.tool.close()


def test_both_devices_know_the_store_for_one(pair: TwoVaults) -> None:
    pair.settle()
    first, second = (store.stamp_text() for store in pair.stores)
    assert first == second is not None


def test_every_acknowledged_edit_is_in_the_note_or_in_a_listed_copy_and_resolving_merges_them(
    pair: TwoVaults,
) -> None:
    script = Script(pair, pair.chance)
    edits = EDITS if isinstance(pair.tool, SyncTool) else EDITS_WITH_SYNCTHING
    script.run(edits)
    assert len(script.acknowledged) > edits / 2
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


@pytest.mark.parametrize("pair", [SyncTool], indirect=True)
def test_the_script_makes_the_tool_keep_versions_that_lost(pair: TwoVaults) -> None:
    Script(pair, pair.chance).run(EDITS)
    assert pair.tool.made_copies > 0


@pytest.mark.parametrize("pair", [pytest.param(Syncthing, marks=with_syncthing)], indirect=True)
def test_what_both_devices_changed_while_they_were_apart_is_listed_on_both(pair: TwoVaults) -> None:
    pair.stores[0].write(PROGRESS, "together\n")
    pair.settle()
    assert isinstance(pair.tool, Syncthing)
    pair.tool.cut()
    for side, store in enumerate(pair.stores):
        store.write(PROGRESS, f"together\nalone on {side}\n")
    pair.settle()
    for side in (0, 1):
        assert sorted(pair.versions(side, PROGRESS)) == ["together\nalone on 0\n", "together\nalone on 1\n"]


@pytest.mark.parametrize("pair", [SyncTool], indirect=True)
def test_a_store_that_just_renames_loses_edits_here(pair: TwoVaults, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the exchange, the same story ends with edits that are nowhere."""
    monkeypatch.setattr(SwapPublisher, "__call__", lambda _, directory, temp, name: directory.replace(temp, name))
    assert _loses_something(Script(pair, pair.chance), 100)


@pytest.mark.parametrize(
    "pair", [pytest.param(partial(Syncthing, most_copies=0), marks=with_syncthing, id="no copies")], indirect=True
)
def test_a_syncthing_that_keeps_no_copy_loses_edits_here(pair: TwoVaults) -> None:
    """The other control: told to keep no version that lost, it loses what only that version had, and we notice."""
    assert _loses_something(Script(pair, pair.chance), EDITS_WITH_SYNCTHING)


def _loses_something(script: Script, edits: int) -> bool:
    for _ in range(10):
        script.run(edits)
        if script.missing(0):
            return True
    return False
