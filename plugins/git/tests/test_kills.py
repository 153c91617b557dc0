"""kill -9 in the middle of everything: the next call recovers, and nothing that was acknowledged is missing.

Short forms; `make faults ARGS=git-kills` kills more, and at every step.
"""

from __future__ import annotations

import os
import random

import pytest
from git_servers import fill
from killing import (
    NOTES,
    Scene,
    judge,
    kill_at_every_change,
    kill_at_every_step,
    kill_at_random,
    reopen_carelessly,
    work_and_lose_power_before_the_commit,
)
from trapped_git import MOMENTS

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up in /proc")


@pytest.fixture
def scene(tmp_path, origin_by_path):
    fill(origin_by_path, {"shared/decisions.md": b"theirs-begin\n"})
    made = Scene(origin_by_path, str(tmp_path))
    made.open()
    return made


def test_killed_at_random_moments_the_next_session_goes_on(scene):
    kill_at_random(scene, kills=4, chance=random.Random(3))
    assert scene.problems == []
    assert scene.kills == 4


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_step_the_next_session_goes_on(scene, moment):
    calls = kill_at_every_step(scene, (moment,), every=6)
    assert scene.problems == []
    assert calls > 6, "a round has more steps than that"


def test_killed_between_two_changes_of_the_disk_the_next_session_goes_on(scene):
    changes = kill_at_every_change(scene, every=11)
    assert scene.problems == []
    assert changes > 11
    assert scene.kills > 1


def test_a_session_that_recovers_carelessly_is_caught(scene):
    """The control: a judge who finds nothing wrong with this would prove nothing."""
    work_and_lose_power_before_the_commit(scene)
    judge(scene, "control", lambda: reopen_carelessly(scene))
    assert any("lost: edit-" in problem for problem in scene.problems)


def test_a_torn_note_is_noticed(scene):
    with open(os.path.join(scene.clone, NOTES[0]), "wb") as note:
        note.write(b"theirs-begin\nhalf a li")
    judge(scene, "control")
    assert any("torn" in problem for problem in scene.problems)
