"""The demo tells the truth: what it shows is what happened."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest


@pytest.mark.skipif(shutil.which("git") is None, reason="the demo's project is a git repository")
def test_the_demo_shows_what_the_readme_promises(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    demo = subprocess.run(
        [sys.executable, "-m", "tests.demo"], capture_output=True, text=True, timeout=120, check=False
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    for line in (
        "Claude Code: connected",
        "Payments use SQLite: one writer, no server to run.",
        "without a server",
        "agentm kept            200 of 200 lines",
        "torn notes: 0",
        "lives in the synced store",
        "- asked for a review",
        "is gone: this device knows store",
        "[agentm] Project state is not available: the store at",
    ):
        assert line in demo.stdout
    assert "Traceback" not in demo.stdout
    undone = demo.stdout.partition("3. An agent")[2].partition("4. Many agents")[0]
    assert "spreadsheet" not in undone.partition("agentm search")[2]
    assert demo.stdout.count("# Plan: ship the widget") >= 3
