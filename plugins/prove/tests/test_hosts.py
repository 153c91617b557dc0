"""What `agentm prove` says of agent hosts: kept only where a program was started and its model got the text."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("agentm_hosts") is None, reason="there is no adapter to try")

REACHED = "what claude-code is told reaches its model"


@pytest.fixture
def connected(bench):
    """Claude Code is connected, and its program is not on the search path."""
    programs = bench.home / "bin"
    programs.mkdir()
    (programs / "agentm").write_text(f"#!{sys.executable} -P\n{bench.command()[-1]}\n")
    (programs / "agentm").chmod(0o755)
    bench.environ["PATH"] = f"{programs}:/usr/bin:/bin"
    done = bench.run("connect", "claude-code")
    assert done.returncode == 0, done.stderr
    return bench


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_connected_host_without_its_program_is_skipped(connected):
    done = connected.run("prove", "--hosts")

    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if REACHED in line]
    assert line.startswith("SKIP")
    assert line.endswith(f"{REACHED}: connected, but there is no command claude")


def test_a_program_that_cannot_be_checked_is_skipped_with_the_reason(connected):
    connected.run("connect", "cursor")

    state, saw = connected.outcome("host cursor")

    assert (state, saw) == (
        "not tried",
        "connected, but cursor cannot be checked: nobody knows how to run it without a person",
    )


def test_a_program_that_does_not_ask_its_model_is_not_called_kept(connected):
    program(connected.home / "bin" / "claude", "exit 0")

    state, saw = connected.outcome("host claude-code")

    assert state != "kept", saw


def test_a_check_that_fails_by_itself_is_broken(connected):
    connected.sabotage(
        """
        import os, sys
        if "check" in sys.orig_argv:
            os.write(2, b"the check broke")
            os._exit(1)
        """
    )

    state, saw = connected.outcome("host claude-code")

    assert state == "broken"
    assert saw == "`agentm hosts check claude-code` failed: the check broke"


def test_hosts_that_are_not_connected_are_one_line_and_not_kept(bench):
    done = bench.run("prove", "--hosts")

    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "claude-code" in line or "codex" in line]
    (line,) = lines
    assert line.startswith("SKIP")
    assert "not connected here, so no program was started: claude-code, codex, " in line


def test_an_adapter_that_answers_wrongly_is_broken_though_its_host_is_not_connected(bench):
    bench.sabotage(
        """
        import os, sys
        if "--host" in sys.orig_argv and "codex" in sys.orig_argv:
            os._exit(0)
        """
    )

    state, saw = bench.outcome("hosts-not-connected")

    assert state == "broken"
    assert "the answer for codex" in saw
