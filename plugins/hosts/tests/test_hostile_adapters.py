"""Adapters of others that fail: each is named without a traceback, and costs the other hosts nothing."""

from __future__ import annotations

import json

import pytest

ADAPTER = """
import os
from agentm_hosts.adapter import HostAdapter

class Rogue(HostAdapter):
    name = title = "rogue"
    hooks = {{"session-start": "onStart"}}

    def folder(self, place): return place.path(".rogue")

    def changes(self, place):
        from agentm_hosts.place import Change, Entry
        entry = Entry(("hooks", "onStart"), {{"command": self.hook_command(place, "session-start")}})
        return [Change(os.path.join(self.folder(place), "settings.json"), "json", (entry,))]

    def {method}(self, *arguments): {work}

ADAPTER = Rogue()
"""
WORKS = ("return 7", "raise BaseException('enough')", "os._exit(0)")


@pytest.fixture
def rogue(laptop):
    def install(method, work):
        site = laptop.home / "site"
        info = site / "rogue-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "entry_points.txt").write_text("[agentm.hosts]\nrogue = rogue:ADAPTER\n")
        (site / "rogue.py").write_text(ADAPTER.format(method=method, work=work))
        path = f"import sys; sys.path.insert(0, {str(site)!r});"
        laptop.agentm.write_text(laptop.agentm.read_text().replace("import sys;", path))
        (laptop.home / ".claude").mkdir()
        (laptop.home / ".rogue").mkdir()
        return laptop

    return install


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("method", ["changes", "folder", "is_present"])
def test_the_other_hosts_are_listed_connected_and_disconnected(rogue, method, work):
    laptop = rogue(method, work)
    assert "claude-code" in laptop.run("hosts", "list").stdout
    for arguments in (("setup", "--yes"), ("hosts", "list"), ("doctor",), ("disconnect", "claude-code")):
        done = laptop.run(*arguments)
        assert "Traceback" not in done.stderr
        assert "something unexpected" not in done.stderr
        assert "Claude Code" in done.stdout or "claude-code" in done.stdout
    done = laptop.run("connect", "rogue")
    assert "'rogue'" in done.stdout + done.stderr or method == "is_present"


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("method", ["open_steps", "advice"])
def test_a_host_is_connected_although_nobody_knows_what_is_left_to_do(rogue, method, work):
    laptop = rogue(method, work)
    done = laptop.run("connect", "rogue")
    assert done.returncode == 0, done.stderr
    assert "rogue: connected" in done.stdout
    assert "the adapter 'rogue' failed in saying what is left to do" in " ".join(done.stdout.split())
    assert "onStart" in (laptop.home / ".rogue/settings.json").read_text()
    listed = laptop.run("hosts", "list")
    assert "claude-code" in listed.stdout
    assert "Traceback" not in listed.stderr


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("method", ["wrap", "session", "transcript", "passes_on"])
def test_the_agent_is_told_all_the_same(rogue, method, work):
    laptop = rogue(method, work)
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")
    given = json.dumps({"cwd": str(laptop.project), "session_id": "s"})
    done = laptop.run("hook", "session-start", "--host", "rogue", text=given)
    assert done.returncode == 0
    assert "PLAN.md" in done.stdout
    assert "Traceback" not in done.stderr
    assert "the adapter 'rogue' failed" in done.stderr or (method, work) == ("passes_on", WORKS[0])
