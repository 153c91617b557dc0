"""Clones that push at the same time: whatever was acknowledged is at the origin in the end, under every policy.

Short forms; `make faults ARGS=git-races` runs 4 clones with 50 commits each over every transport.
"""

from __future__ import annotations

import os

import pytest
from clones import RacingClone, found_store
from forgetful import ForgetfulClone
from git_servers import TRANSPORTS, fill, serving
from racing import POLICIES, Race, run


@pytest.mark.parametrize("policy", POLICIES)
def test_racing_pushes_lose_no_edit(tmp_path, policy):
    transport = TRANSPORTS[POLICIES.index(policy) % len(TRANSPORTS)]
    with serving(transport, str(tmp_path)) as origin:
        found_store(origin, str(tmp_path))
        result = run(Race(origin, str(tmp_path), policy, clones=3, edits=4, open_clone=RacingClone))
    assert result.problems == []
    assert len(result.acknowledged) == 3 * 4


def test_a_clone_that_takes_the_origins_version_is_caught(tmp_path, origin_by_path):
    fill(origin_by_path, {"readme.md": b"notes of a team\n"})
    result = run(Race(origin_by_path, str(tmp_path), "none", clones=3, edits=8, open_clone=ForgetfulClone))
    assert any(problem.startswith("lost") for problem in result.problems)
    assert not os.path.exists(tmp_path / "clone-3")
