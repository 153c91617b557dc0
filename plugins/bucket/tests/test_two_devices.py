"""Two laptops run the script that two devices of a vault run: through the verbs, and in the copies of the plans.

`make faults ARGS=two-devices` runs it at full length, on SeaweedFS and azurite.
"""

from __future__ import annotations

import os
import random

import pytest
from two_laptops import run_script

from agentm_kernel.files.swap import SwapPublisher
from agentm_kernel.state.mirror import Mirror

EDITS = 60


@pytest.fixture
def chance():
    return random.Random(os.environ.get("AGENTM_SEED", "two laptops"))


@pytest.mark.parametrize("name", ["seaweedfs", "azurite"])
def test_every_acknowledged_edit_is_in_the_note_or_in_a_listed_copy(request, name, tmp_path, chance):
    server = request.getfixturevalue(name).server
    script = run_script(server, tmp_path, chance, EDITS)
    assert script.refused == 0
    assert len(script.acknowledged) >= EDITS
    assert script.copies(0) > 0
    assert [script.missing(side) for side in (0, 1)] == [[], []]


def test_a_copy_that_keeps_no_loser_loses_edits_here(azurite, tmp_path, chance, monkeypatch):
    """The first control."""
    monkeypatch.setattr(Mirror, "_keep_aside", lambda self, locator: locator)
    assert run_script(azurite.server, tmp_path, chance, EDITS).missing(0)


def test_a_copy_that_just_renames_loses_edits_here(azurite, tmp_path, chance, monkeypatch):
    """The second control: an edit between the look at a file and the rename over it is nowhere."""
    monkeypatch.setattr(SwapPublisher, "__call__", lambda _, directory, temp, name: directory.replace(temp, name))
    for attempt in range(10):
        if run_script(azurite.server, tmp_path / str(attempt), chance, EDITS).missing(0):
            return
    pytest.fail(f"nothing was lost in {10 * EDITS} edits")
