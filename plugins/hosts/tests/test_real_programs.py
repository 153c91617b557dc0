"""The real agent hosts against model stubs: what the model got, and what `agentm hosts list` then says."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("agentm_recall", reason="the notes of these rounds are saved with agentm-recall")
sys.path.insert(0, str(Path(__file__).parent))

import programs
import rounds

from agentm_hosts.check.scratch import run

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


def test_claude_code_that_passes_on_a_preview_is_called_cut(tmp_path: Path) -> None:
    """It keeps what is longer than 10,000 signs in a file, and shows the model the beginning. We say less than that;
    here something else makes our answer longer.
    """
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        it.save("Every lamp has a number.\n" * 200 + rounds.NOTE)
        padding = tmp_path / "padding"
        padding.write_text(
            f"#!{sys.executable}\n"
            "import json, subprocess, sys\n"
            f"said = subprocess.run(['{it.agentm}', *sys.argv[1:]], capture_output=True, text=True).stdout\n"
            "answer = json.loads(said or '{}')\n"
            "told = answer.get('hookSpecificOutput', {})\n"
            "if told.get('hookEventName') == 'SessionStart': told['additionalContext'] += 'x' * 20_000\n"
            "print(json.dumps(answer))\n"
        )
        padding.chmod(0o755)
        settings = it.home / ".claude" / "settings.json"
        settings.write_text(settings.read_text().replace(json.dumps(it.agentm), json.dumps(str(padding))))
        it.ask("Hello.")

        assert it.reached("Every lamp has a number.")
        assert it.reached() == []
        report = it.report()
        assert (report["told"], report["delivered"], report["cut"]) == (1, 0, 1)


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


def test_gemini_in_a_folder_that_is_not_trusted_names_the_step(tmp_path: Path) -> None:
    """Without a person it then does nothing at all, with or without us."""
    with a_round("gemini", tmp_path) as it:
        it.set_up(trusted=False)
        it.ask()

        assert it.reached() == []
        assert "that you have not trusted" in str(it.report()["open_steps"])
        it.runner.grant(it.scratch, it.place)
        assert it.ask().code == 0
        assert it.report()["open_steps"] == []


def test_a_store_that_is_not_there_is_named_to_the_agent_which_goes_on(tmp_path: Path) -> None:
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        (tmp_path / "disk").mkdir()
        it.run_agentm("vault", "init", str(tmp_path / "disk" / "vault"), "--create", "--use")
        (tmp_path / "disk").rename(tmp_path / "unmounted")
        ran = it.ask()

        assert ran.code == 0, ran.output
        assert it.reached("[agentm] Project state is not available")
        assert it.report()["delivered"] == 1


def test_a_store_that_hangs_costs_two_seconds_and_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "hanging-1.0.dist-info").mkdir(parents=True)
    (site / "hanging-1.0.dist-info" / "entry_points.txt").write_text("[agentm.backends]\nhanging = hanging:Hanging\n")
    (site / "hanging.py").write_text("import time\ntime.sleep(60)\n")
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        it.run_agentm("config", "set", "storage.backend", "hanging")
        launcher = (
            Path(it.agentm).read_text().replace("import sys\n", f"import sys\nsys.path.append({str(site)!r})\n", 1)
        )
        slow = tmp_path / "bin" / "slow"
        slow.write_text(launcher)
        slow.chmod(0o755)
        settings = it.home / ".claude" / "settings.json"
        settings.write_text(settings.read_text().replace(json.dumps(it.agentm), json.dumps(str(slow))))
        ran = it.ask()

        assert ran.code == 0, ran.output
        assert it.reached("took more than 1.9 s")


def test_a_session_that_is_continued_has_what_it_was_told(tmp_path: Path) -> None:
    """Claude Code keeps one copy of an unchanged text: that is no second one that was dropped."""
    with a_round("claude-code", tmp_path) as it:
        it.set_up()
        it.save()
        it.ask()
        it.ask("And now?", "--continue")

        report = it.report()
        assert (report["told"], report["delivered"]) == (2, 2)


@pytest.mark.parametrize("name", ["claude-code", "copilot", "gemini"])
def test_the_plugin_folder_brings_the_note_too(name: str, tmp_path: Path) -> None:
    """Installed from the folder alone, each host is answered in its own envelope. (Codex asks for trust first.)"""
    with a_round(name, tmp_path) as it:
        (tmp_path / "bin" / "agentm").symlink_to(it.agentm)
        it.save()
        folder = str(tmp_path / "folder")
        it.run_agentm("hosts", "folder", folder)
        it.runner.grant(it.scratch, it.place)
        install = {
            "claude-code": (("plugin", "marketplace", "add", folder), ("plugin", "install", "agentm@agentm")),
            "copilot": (("plugin", "marketplace", "add", folder), ("plugin", "install", "agentm@agentm")),
            "gemini": (("extensions", "link", "--consent", f"{folder}/gemini"),),
        }
        as_user = replace(
            it.runner, environ=lambda scratch: {**it.runner.environ(scratch), "PATH": it.environ["PATH"]}
        )
        for arguments in install[name]:
            line = replace(as_user, command=lambda program, _, given=arguments: [program, *given])
            done = run(line, it.program, it.scratch, "")
            assert done.code == 0, done.output
        ran = run(as_user, it.program, it.scratch, rounds.QUESTION)

        assert ran.code == 0, ran.output
        assert it.reached()
        assert (it.home / ".local" / "state" / "agentm" / "deliveries" / f"{it.host}.jsonl").exists()
