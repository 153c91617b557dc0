"""Clones that push at the same time: whatever was acknowledged is at the origin in the end, under every policy.

Short forms; `make faults ARGS=git-races` runs 4 clones with 50 commits each over every transport.
"""

from __future__ import annotations

import json
import os
import threading

import pytest
from clones import RacingClone, device, found_store
from forgetful import ForgetfulClone
from git_servers import TRANSPORTS, fill, serving
from racing import POLICIES, Race, run

from agentm_git.setup import set_up
from agentm_kernel.errors import AgentmError


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


@pytest.mark.parametrize("files", [{}, {"readme.md": b"notes of a team\n"}], ids=["empty", "adopted"])
def test_devices_that_set_up_at_once_do_not_replace_each_others_identity(tmp_path, origin_by_path, files):
    if files:
        fill(origin_by_path, files)
    ids, refusals = [], []

    def set_up_device(name):
        try:
            done = set_up(
                str(tmp_path / name), origin_by_path.url, adopt=True, environ=device(str(tmp_path / f"{name}.home"))
            )
        except AgentmError as error:
            refusals.append(error)
        else:
            ids.append(done.store_id)

    devices = [threading.Thread(target=set_up_device, args=(name,)) for name in ("one", "two", "three")]
    for started in devices:
        started.start()
    for started in devices:
        started.join()
    stamp = json.loads(origin_by_path.files()["_meta/store.json"])["id"]
    assert set(ids) == {stamp}, "whoever was let in knows the store by the identity that it has"
    assert len(ids) + len(refusals) == 3
    assert all(refusal.hint for refusal in refusals)
