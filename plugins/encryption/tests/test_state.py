"""Plans and progress of a store that devices share: sealed there, readable by hooks and agents of each device."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from encrypted_laptops import Laptop, let_in

PLAN = "# Plan\n\nLook at the heliotrope first.\n"


@pytest.fixture
def pair(tmp_path):
    one, other = (Laptop(tmp_path / name, tmp_path / "vault") for name in ("one", "other"))
    for laptop in (one, other):
        git = laptop.home / "widgets" / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/widgets.git\n')
    one.init("--name", "one")
    let_in(one, other, "other")
    return one, other


def agentm(laptop, *arguments, text=""):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments],
        cwd=laptop.home / "widgets",
        env=laptop.environ,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def test_a_plan_goes_from_one_device_to_the_other_and_is_sealed_between_them(pair, tmp_path):
    one, other = pair
    agentm(one, "state", "write", "PLAN.md", text=PLAN)
    agentm(one, "event", "turn-end", text=json.dumps({"cwd": str(one.home / "widgets")}))
    assert not [path for path in (tmp_path / "vault").rglob("*") if path.is_file() and b"helio" in path.read_bytes()]
    assert list((tmp_path / "vault").rglob("PLAN.md"))
    agentm(other, "event", "turn-start", text=json.dumps({"cwd": str(other.home / "widgets")}))
    place = agentm(other, "state-path", "plan").strip()
    with open(place, encoding="utf-8") as file:
        assert file.read() == PLAN
    assert other.home in type(other.home)(place).parents
    event = {"cwd": str(other.home / "widgets"), "session_id": "s", "source": "startup"}
    told = agentm(other, "hook", "session-start", "--host", "claude-code", text=json.dumps(event))
    assert os.path.dirname(place) in told


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_copy_is_private_and_goes_when_the_store_is_made_plain(pair):
    one, _ = pair
    agentm(one, "state", "write", "PLAN.md", text=PLAN)
    place = type(one.home)(agentm(one, "state-path", "plan").strip())
    copy = next(above for above in place.parents if above.parent.parent.name == "stores")
    assert copy.name == "state"
    assert copy.stat().st_mode & 0o077 == 0
    one.done("encryption", "decrypt", "--yes")
    assert not place.exists()
    assert agentm(one, "state", "read", "PLAN.md") == PLAN
