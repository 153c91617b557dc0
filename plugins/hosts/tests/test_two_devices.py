"""Two devices on one store, with nothing configured but `agentm setup` and the store: the hooks do the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytest.importorskip("agentm_recall")
pytest.importorskip("agentm_git")
pytest.importorskip("agentm_bucket")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bucket" / "tests"))

from bucket_servers import BUCKET, ServerMissingError, running

MARKER = "amber-ferry-marker"
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def laptops(tmp_path: Path, laptop):
    """Two checkouts of one repository, on two devices that have Claude Code."""
    found = [type(laptop)(tmp_path / name) for name in ("one", "two")]
    for each in found:
        (each.home / ".claude").mkdir()
        (each.home / ".gitconfig").write_text("[user]\n\tname = Ana\n\temail = ana@example.org\n")
        (each.project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:ana/ferry.git\n')
    return found


def a_session(laptop, session: str, *, saves: str = "") -> str:
    """One session as Claude Code reports it; what its model was told at the start."""
    told = laptop.context("session-start", session_id=session, source="startup")
    laptop.hook("prompt", session_id=session, prompt="Go on.")
    if saves:
        laptop.must("save", "--kind", "decision", "--slug", "ferry", text=saves)
    laptop.hook("turn-end", session_id=session)
    laptop.hook("session-end", session_id=session)
    return told


def check(one, two) -> None:
    for laptop in (one, two):
        laptop.must("setup", "--yes")
    a_session(one, "first", saves=f"The ferry leaves from {MARKER}.\n")
    # The next session on the other device, once what the first left to the background is done.
    two.wait_for(lambda: MARKER in a_session(two, f"next-{uuid.uuid4().hex}"), seconds=60)


def test_a_note_saved_in_a_session_is_in_the_next_one_elsewhere_by_git(laptops, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    for laptop in laptops:
        laptop.must("git", "init", str(laptop.home / "notes"), f"file://{tmp_path}/team.git", "--use")
        laptop.must("config", "set", "plugins.git.pull_ttl", "1")  # users wait a minute between two pulls

    check(*laptops)


def test_a_note_saved_in_a_session_is_in_the_next_one_elsewhere_by_a_bucket(laptops, tmp_path: Path) -> None:
    try:
        with running("moto", str(tmp_path / "moto")) as started:
            for laptop in laptops:
                laptop.environ |= started.server.environ
                where = ("--prefix", "team", "--endpoint", started.server.endpoint)
                laptop.must("bucket", "init", BUCKET, *where, "--use")
            check(*laptops)
    except ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS") == "1":
            raise
        pytest.skip(str(reason))


def test_a_device_that_cannot_reach_the_store_says_so_and_goes_on(laptops, tmp_path: Path) -> None:
    one, _ = laptops
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    one.must("git", "init", str(one.home / "notes"), f"file://{tmp_path}/team.git", "--use")
    one.must("save", "--kind", "decision", "--slug", "ferry", text=f"The ferry leaves from {MARKER}.\n")
    (tmp_path / "team.git").rename(tmp_path / "unmounted.git")

    assert MARKER in one.context("session-start")  # from its own clone
    (one.home / "notes").rename(one.home / "unmounted")
    told = one.context("session-start")
    assert "not available" in told, json.dumps(told)
    assert one.hook("prompt", prompt="What now?") == ""
