"""An import killed at 50 random points, each in a fresh store, and run again: complete and single (`make e2e`)."""

from __future__ import annotations

import os
import random
import shutil

import pytest
from import_home import Home
from samples import SOURCES
from test_changes import Dying, killed_at

from agentm_import.importing import Import
from agentm_import.planning import CREATE

POINTS = 50
COUNT = 40

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("source", ["claude-mem", "obsidian"])
def test_killed_at_random_points_and_run_again(source: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    place = SOURCES[source][0](home.path, COUNT)
    path = str(place) if source == "obsidian" else ""
    complete = Import(home.device(), source, path, keep_names=True).carry_out().counts()[CREATE]
    whole = home.notes()
    assert complete == sum(key.endswith(".md") for key in whole)
    seed = int(os.environ.get("AGENTM_SEED", "0")) or random.randrange(1, 1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(POINTS):
        for folder in (".agentm", ".local", ".cache"):
            shutil.rmtree(home.path / folder, ignore_errors=True)
        monkeypatch.setattr("agentm_import.ledger._EVERY", chance.choice((0.0, 0.01, 2.0)))
        Dying.writes = 0
        killed_at(home, source, path, chance.randrange(2, 2 * complete))
        Import(home.device(), source, path, keep_names=True).carry_out()
        found = {key: text for key, text in home.notes().items() if key.endswith(".md")}
        assert found == {key: text for key, text in whole.items() if key.endswith(".md")}
