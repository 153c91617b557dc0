"""Settings and what this device remembers of them come apart: files are restored, synced, cloned; programs move."""

from __future__ import annotations

import json
import shutil

import pytest

OURS = '{\n  "theme": "dark"\n}\n'


@pytest.fixture
def connected(laptop):
    """Claude Code and Codex, connected."""
    for host, file in ((".claude", "settings.json"), (".codex", "hooks.json")):
        (laptop.home / host).mkdir()
        (laptop.home / host / file).write_text(OURS)
    laptop.must("connect", "claude-code", "codex")
    return laptop


def files(laptop):
    names = (".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml")
    return {name: path.read_text() for name in names if (path := laptop.home / name).exists()}


def forget_records(laptop):
    shutil.rmtree(laptop.state)


def test_settings_that_were_put_back_are_no_connection(connected):
    (connected.home / ".claude" / "settings.json").write_text(OURS)
    (connected.home / ".claude.json").write_text("{}")
    said = connected.must("doctor")
    assert "WARN  hosts             Claude Code: " in said
    assert "settings.json no longer has hooks.SessionStart" in said
    assert ".claude.json no longer has mcpServers.agentm" in said
    assert "run `agentm connect claude-code` again" in said
    assert "settings.json no longer has" in connected.must("hosts", "list")
    connected.must("connect", "claude-code")
    assert "no longer has" not in connected.must("doctor")


def test_settings_that_start_a_program_which_is_gone_are_no_connection(connected):
    again = connected.home / "again"
    again.mkdir()
    shutil.move(connected.agentm, again / "agentm")
    gone, connected.agentm = connected.agentm, again / "agentm"
    said = connected.must("doctor")
    assert f"Claude Code: it starts {gone}, which is not there: run `agentm connect claude-code` again" in said
    connected.must("connect", "claude-code", "codex")
    assert "which is not there" not in connected.must("doctor")


def test_what_this_device_has_no_record_of_is_said_and_disconnected(connected):
    forget_records(connected)
    assert "this device has no record of" in connected.must("doctor")
    assert "claude-code: still to do: " in connected.must("hosts", "list")
    assert "Claude Code: disconnected" in connected.must("disconnect")
    assert "agentm" not in "".join(files(connected).values())
    assert json.loads(files(connected)[".claude/settings.json"]) == json.loads(OURS)
    assert "no record" not in connected.must("doctor")


def test_connecting_without_the_record_makes_one_that_leads_all_the_way_back(connected):
    before = files(connected)
    forget_records(connected)
    connected.must("connect", "claude-code", "codex")
    assert files(connected) == before
    connected.must("disconnect", "claude-code", "codex")
    assert "agentm" not in "".join(files(connected).values())
    assert files(connected)[".claude/settings.json"] == OURS


def test_a_clone_of_a_repository_that_connects_us_can_be_disconnected(laptop):
    laptop.must("connect", "claude-code", "--scope", "project")
    settings = laptop.project / ".claude" / "settings.json"
    forget_records(laptop)
    assert "this device has no record of" in laptop.must("hosts", "list")
    laptop.must("disconnect", "claude-code", "--scope", "project")
    assert "agentm" not in settings.read_text()


def test_entries_of_others_are_not_taken_for_ours(laptop):
    (laptop.home / ".claude").mkdir()
    settings = laptop.home / ".claude" / "settings.json"
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other hook turn-end"}]}]}}
    settings.write_text(json.dumps(theirs))
    assert "Claude Code: not connected" in laptop.must("disconnect", "claude-code")
    assert json.loads(settings.read_text()) == theirs
    settings.write_text("{broken")
    assert "Claude Code: not connected" in laptop.must("disconnect", "claude-code")
