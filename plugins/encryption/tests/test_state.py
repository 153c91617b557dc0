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


def event(laptop, name):
    agentm(laptop, "event", name, text=json.dumps({"cwd": str(laptop.home / "widgets")}))


@pytest.fixture
def kept(pair):
    """Both devices edited a file at once: the key of the version that lost, and its device, which has not sent it."""
    one, other = pair
    agentm(one, "state", "write", "progress.md", text="- begun\n")
    event(other, "turn-start")
    for laptop in pair:
        with open(agentm(laptop, "state", "path", "progress.md").strip(), "a", encoding="utf-8") as file:
            file.write(f"- done on {laptop.home.name}\n")
    event(one, "turn-end")
    event(other, "turn-start")
    (path,) = other.home.rglob("progress ?conflict *.md")
    return f"projects/widgets/_harness/{path.name}", other


def test_what_lost_to_another_device_s_edit_is_told_until_it_is_removed(pair, kept, tmp_path):
    one, _ = pair
    key, other = kept
    assert agentm(other, "state", "read", "progress.md") == "- begun\n- done on one\n"
    event(other, "turn-end")
    event(one, "turn-start")
    for laptop in pair:
        assert "1 to settle, of 'projects/widgets/_harness/progress.md'" in agentm(laptop, "doctor")
        assert laptop.status()["conflicts"] == {key: "projects/widgets/_harness/progress.md"}
        assert laptop.done("encryption", "show", key).endswith("- begun\n- done on other\n")
        told = agentm(laptop, "hook", "session-start", text=json.dumps({"cwd": str(laptop.home / "widgets")}))
        name = key.rpartition("/")[2]
        assert f"wait to be settled: {name}. Ask the operator; `agentm doctor` says how." in told

    (tmp_path / "vault" / key).unlink()
    for laptop in pair:
        event(laptop, "turn-start")
        assert "to settle" not in agentm(laptop, "doctor")
        assert agentm(laptop, "state", "list") == "progress.md\n"


def test_what_lost_is_shown_before_it_is_sent(kept, tmp_path):
    key, other = kept
    assert not (tmp_path / "vault" / key).exists()
    assert other.status()["conflicts"] == {key: "projects/widgets/_harness/progress.md"}
    assert other.done("encryption", "show", key) == "- begun\n- done on other\n"
    assert f"'{key}.md' does not exist" in other.refused("encryption", "show", f"{key}.md")
