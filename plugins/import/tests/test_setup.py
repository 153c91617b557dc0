"""`agentm setup` and `agentm import` say which memories of other tools are on this device, and how many."""

from __future__ import annotations

import sys

import pytest
from import_home import START, Home, snapshot
from samples import claude_code, claude_mem, codex, gemini, mem0


@pytest.fixture
def used(home: Home) -> Home:
    """A home in which five tools have been used, and the command as a host starts it."""
    for make in (claude_code, claude_mem, codex, gemini, mem0):
        make(home.path)
    launcher = home.path / "bin" / "agentm"
    launcher.parent.mkdir()
    launcher.write_text(f"#!{sys.executable} -P\n{START}\n")
    launcher.chmod(0o755)
    home.environ["PATH"] = f"{launcher.parent}:{home.environ['PATH']}"
    return home


@pytest.mark.parametrize("option", ["--dry-run", "--yes"])
def test_setup_offers_what_is_there_with_counts(used: Home, option: str) -> None:
    sources = [used.path / name for name in (".claude-mem", ".codex/memories_v2", ".gemini/tmp", ".mem0")]
    sources.append(used.path / ".claude/projects")
    before = snapshot(*sources)
    done = used.run("setup", option)
    assert done.returncode == 0, done.stderr + done.stdout
    for source, count in (("claude-code", 200), ("claude-mem", 200), ("codex", 155), ("gemini", 201), ("mem0", 270)):
        line = next(line for line in done.stdout.splitlines() if f"`agentm import {source} --dry-run`" in line)
        said = int(line.partition("about ")[2].partition(" ")[0])
        assert abs(said - count) <= 10, line
    assert snapshot(*sources) == before
    assert not list((used.root / "personal").rglob("*.md")), "an offer imports nothing"


def test_import_without_a_source_lists_them(used: Home) -> None:
    found = used.json("import")
    assert {place["source"] for place in found["found"]} == {"claude-code", "claude-mem", "codex", "gemini", "mem0"}
    assert all(place["count"] > 100 for place in found["found"])
    assert found["failures"] == []
