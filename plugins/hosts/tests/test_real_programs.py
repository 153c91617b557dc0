"""The real agent hosts against model stubs: what the model got, and what `agentm hosts list` then says."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("agentm_recall", reason="the notes of these rounds are saved with agentm-recall")
sys.path.insert(0, str(Path(__file__).parent))

import programs
import rounds

from agentm_hosts.check.stub import ToolUse

pytestmark = pytest.mark.timeout(180)


def a_round(name: str, folder: Path) -> rounds.Round:
    try:
        return rounds.Round(name, folder)
    except programs.Unavailable as reason:
        if os.environ.get(programs.REQUIRE) == "1":
            raise
        pytest.skip(str(reason))


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_note_reaches_the_model_and_is_seen_to(name: str, tmp_path: Path) -> None:
    with a_round(name, tmp_path):
        pass
    problem = rounds.play(name, tmp_path / "round")

    assert not problem


def test_codex_that_does_not_trust_us_goes_on_and_the_step_is_shown(tmp_path: Path) -> None:
    with a_round("codex", tmp_path) as it:
        it.set_up(trusted=False)
        it.save()
        ran = it.ask()

        assert ran.code == 0
        assert it.reached() == []
        report = it.report()
        assert report["told"] == 0
        assert "skips our hooks until you trust them" in str(report["open_steps"])
        it.runner.grant(it.scratch, it.place)
        assert "trust them" not in str(it.report()["open_steps"])


def test_claude_code_that_logs_a_context_but_drops_it_is_not_called_delivered(tmp_path: Path) -> None:
    """A wrong envelope, made on purpose: what we say goes to the top level, where Claude Code ignores it."""
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        it.save()
        wrong = tmp_path / "wrong"
        opening = '{"hookSpecificOutput": {"hookEventName": "SessionStart", '
        wrong.write_text(f"#!/bin/sh\n'{it.agentm}' \"$@\" | sed 's/^{opening}/{{/; s/}}}}$/}}/'\n")
        wrong.chmod(0o755)
        settings = it.home / ".claude" / "settings.json"
        settings.write_text(settings.read_text().replace(json.dumps(it.agentm), json.dumps(str(wrong))))
        it.ask()

        assert it.reached() == []
        report = it.report()
        assert (report["told"], report["delivered"]) == (1, 0)
        assert report["dropped"] == 1


def test_gemini_goes_on_when_agentm_is_gone(tmp_path: Path) -> None:
    """Without the guard in the hook's line, a program that is missing blocks every prompt there."""
    with a_round("gemini", tmp_path) as it:
        launcher = tmp_path / "bin" / "agentm"
        launcher.symlink_to(it.agentm)
        it.agentm = str(launcher)
        it.set_up()
        launcher.unlink()
        ran = it.ask()

        assert ran.code == 0, ran.output
        assert len(it.stub.questions()) > 0


def test_claude_code_compacts_with_the_plan_and_what_is_open(tmp_path: Path) -> None:
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        it.run_agentm("state", "write", "PLAN.md", text="# Plan\n\n1. Paint the sundial ochre-plan-marker.\n")
        it.run_agentm("state", "append", "progress.md", text="- primed umber-progress-marker\n")
        it.run_agentm(
            "save", "--kind", "open-question", "--slug", "varnish", text="Which varnish, teal-open-marker?\n"
        )
        first = it.ask("Remember the sundial.")
        assert first.code == 0, first.output
        asked = len(it.stub.questions())
        compacted = it.ask("/compact", "--continue")
        assert compacted.code == 0, compacted.output
        summarised = it.stub.questions()[asked:]
        after = it.ask("Go on.", "--continue")
        assert after.code == 0, after.output

        for marker in ("ochre-plan-marker", "umber-progress-marker", "teal-open-marker"):
            assert any(request.places_of(marker) for request in summarised), marker
        last = it.stub.questions()[-1]
        assert last.places_of("PLAN.md")
        assert last.places_of("teal-open-marker")


# ------------------------------------------------------------------------------------------------ the tools


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_server_that_connect_writes_answers_the_model(name: str, tmp_path: Path) -> None:
    """The model calls the tools by the names that the agent was told; what they say is in its next request."""
    with a_round(name, tmp_path) as it:
        it.set_up()
        if it.host == "claude-code":  # what only the user can permit
            settings = it.home / ".claude" / "settings.json"
            allowed = {**json.loads(settings.read_text()), "permissions": {"allow": ["mcp__agentm"]}}
            settings.write_text(json.dumps(allowed))
        tool = adapter_of(it.host).tool_name
        saved = {"title": "Harbour", "body": "The harbour is dredged every ochre-spring-marker.", "kind": "decision"}
        it.stub.calls = [
            ToolUse(tool.format(tool="memory_save"), saved),
            ToolUse(tool.format(tool="memory_search"), {"query": "harbour dredged"}),
        ]
        ran = it.ask("When is the harbour dredged?")

        assert ran.code == 0, ran.output
        assert it.stub.calls == [], ran.output
        assert "ochre-spring-marker" in it.run_agentm("search", "harbour", "dredged")
        last = it.stub.questions()[-1].body
        assert "projects/lighthouse/decisions/harbour" in json.dumps(last)


def adapter_of(host: str):
    return importlib.import_module(f"agentm_hosts.adapters.{host.replace('-', '_')}").ADAPTER
