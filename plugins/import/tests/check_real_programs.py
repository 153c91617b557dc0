"""Sources that the real programs wrote, at least 200 items each. Run by `make e2e`; too long for every run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from import_home import Home, snapshot
from model_stubs import Model
from real_programs import (
    COUNT,
    MAKERS,
    Unavailable,
    codex_answers,
    install,
    place,
    program,
    run_claude,
    run_codex,
)

from agentm_import.importing import Import
from agentm_import.planning import CREATE, UNCHANGED

NEEDS = {"claude-mem": ("claude-mem", "bun"), "gemini": ("gemini-cli",)}
NEEDS_PATH = frozenset(("server-memory", "mempalace"))

pytestmark = pytest.mark.timeout(900)


def made(source: str, home: Home) -> Path:
    try:
        for name in NEEDS.get(source, (source,)):
            install(name)
        return MAKERS[source](home.path)
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("source", sorted(MAKERS))
def test_what_the_real_program_wrote_comes_over(source: str, home: Home) -> None:
    place_made = made(source, home)
    before = snapshot(place_made)
    path = str(place_made) if source in NEEDS_PATH else ""
    done = Import(home.device(), source, path, keep_names=True).carry_out()
    print(source, dict(done.counts()), {step.reason for step in done.steps if step.reason})
    assert not done.problems
    assert done.counts()[CREATE] >= COUNT * 9 // 10
    assert len(done.steps) >= COUNT
    assert snapshot(place_made) == before
    again = Import(home.device(), source, path, keep_names=True).carry_out()
    assert again.counts()[CREATE] == 0
    assert again.counts()[UNCHANGED] == done.counts()[CREATE]


def test_claude_code_sends_the_lines_that_were_exported(home: Home) -> None:
    for name in ("tea", "coffee"):
        saved = home.run(
            "save", "--kind", "decision", "--slug", name, input=f"# About {name}\n\nThe {name} is settled.\n"
        )
        assert saved.returncode == 0
    try:
        install("claude-code")
        with Model(lambda _: []) as model:
            run_claude(home.path, model, "Hello")
            memory = next((home.path / ".claude/projects").glob("*/memory"))
            exported = home.run("export", "claude-code", str(memory))
            assert exported.returncode == 0, exported.stderr
            model.seen.clear()
            run_claude(home.path, model, "Hello again")
            sent = json.dumps([body for _, body in model.seen], ensure_ascii=False)
    except Unavailable as error:
        pytest.skip(str(error))
    lines = (memory / "MEMORY.md").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        assert json.dumps(line, ensure_ascii=False)[1:-1] in sent


def test_codex_reads_the_notes_that_were_exported(home: Home) -> None:
    """With the tool that Codex itself has for its memory."""
    body = "# About tea\n\nThe tea is settled: Darjeeling.\n"
    assert home.run("save", "--kind", "decision", "--slug", "tea", input=body).returncode == 0
    try:
        install("codex")
        with Model(lambda _: []) as model:
            run_codex(home.path, model, "Hello")
        memory = home.path / ".codex" / "memories_v2"
        exported = home.run("export", "codex", str(memory))
        assert exported.returncode == 0, exported.stderr
        (note,) = (memory / "extensions/ad_hoc/notes").glob("*.md")
        read = ("memories.read", {"path": str(note.relative_to(memory))})
        with Model(codex_answers([read])) as model:
            run_codex(home.path, model, "What about tea?")
            answers = json.dumps([body.get("input") for _, body in model.seen])
    except Unavailable as error:
        pytest.skip(str(error))
    assert "The tea is settled: Darjeeling." in answers


def test_another_implementation_accepts_our_okf(home: Home, tmp_path: Path) -> None:
    home.run("save", "--kind", "decision", "--slug", "tea", input="# About tea\n\nSettled.\n")
    home.run("save", "--kind", "fact", "--slug", "port", "--tag", "net", input="The port is 8080.\n")
    assert home.run("export", "okf", str(tmp_path / "out")).returncode == 0
    try:
        install("basic-memory")
    except Unavailable as error:
        pytest.skip(str(error))
    done = _checked_by_basic_memory(tmp_path / "out", home)
    assert done.returncode == 0, done.stdout + done.stderr


def _checked_by_basic_memory(folder: Path, home: Home) -> subprocess.CompletedProcess[str]:
    environ: dict[str, Any] = {"HOME": str(home.path), "PATH": os.environ["PATH"]}
    command = [program("basic-memory", "venv/bin/basic-memory"), "okf", "check", str(folder)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300, check=False)
    print(place("basic-memory").name, done.stdout)
    return done
