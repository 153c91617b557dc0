"""Rounds of the real agent hosts with our tools: found, search, save, read back, conflict, merge, a secret refused.

`python -m tests.tools.rounds` plays them with agentm installed from wheels: Codex 50 times (it does not wait for a
server that is slow to start), the others 5 times each.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "plugins" / "hosts" / "tests"))

import programs
import rounds

from tests.tools.scripted import ScriptedModel

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"
ALL_TOOLS = 10
DISTRIBUTIONS = ("agentm-device-local", "agentm-recall", "agentm-checkpoint", "agentm-mcp", "agentm-hosts")
_ALLOWED = ("--allowedTools", "mcp__agentm")
"""What a user of Claude Code answers once; without it, `-p` refuses every tool of a server."""
HOSTS = {name: _ALLOWED if "claude" in name else () for name in programs.PROGRAMS}
SEARCHING = "gpt-5.5"
"""A model that Codex has a tool search for; others are shown the tools at once."""


def _merge(results: list[str]) -> dict[str, str]:
    found = re.search(r"note=(\S+) and expect=([0-9a-f]{64})", results[-1])
    note, expect = found.groups() if found else ("no conflict", "was told")
    return {"title": "Use SQLite", "body": "One writer, and it is a file.", "note": note, "expect": expect}


SCRIPT = (
    ("memory_search", {"query": "lighthouse"}),
    ("memory_save", {"title": "Use SQLite", "body": "One writer.", "kind": "decision"}),
    ("memory_read", {"note": "use-sqlite"}),
    ("memory_save", {"title": "Use SQLite", "body": "It is a file.", "kind": "decision"}),
    ("memory_save", _merge),
    ("memory_save", {"title": "The token", "body": SECRET}),
)
EXPECTED = (rounds.MARKER, "saved", "One writer.", "merge your text", "saved", "secret")


def play(name: str, folder: Path, agentm: str | None = None, *, model: str = SEARCHING) -> str:
    """One round; what went wrong, or nothing."""
    it = rounds.Round(name, folder, agentm)
    it.stub.close()
    stub = it.stub = ScriptedModel(SCRIPT)
    with it:
        it.set_up()
        it.save()
        if it.host == "codex":
            config = it.home / ".codex" / "config.toml"
            config.write_text(config.read_text().replace('model = "stub"', f'model = "{model}"', 1))
        ran = it.ask("Which database do we use?", *HOSTS[name])
        if not stub.offered or len(stub.offered[0]) != ALL_TOOLS:
            return f"the first request that could have had our tools had {stub.offered[:1]}: {ran.output[-300:]}"
        for number, (wanted, (tool, _)) in enumerate(zip(EXPECTED, SCRIPT, strict=True)):
            got = stub.results[number] if number < len(stub.results) else "nothing"
            if wanted not in got:
                return f"step {number + 1}, {tool}, answered {got[:300]!r} and not {wanted!r}"
        note = it.home / ".agentm" / "memory" / "projects" / "lighthouse" / "decisions" / "use-sqlite.md"
        if "One writer, and it is a file." not in note.read_text():
            return f"the note is {note.read_text()!r}"
        if any(SECRET in file.read_text() for file in (it.home / ".agentm").rglob("*.md")):
            return "the secret is in the store"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="of Codex; a tenth for each of the others")
    parser.add_argument("--only", action="append", choices=sorted(HOSTS))
    chosen = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="agentm-tools-", ignore_cleanup_errors=True) as base:
        from tests.benchmarks.installed import Installed

        agentm = Installed(Path(base) / "wheels", DISTRIBUTIONS).agentm
        for name in chosen.only or HOSTS:
            count = chosen.rounds if name == "codex" else max(1, chosen.rounds // 10)
            started, wrong = time.monotonic(), []
            for number in range(count):
                folder = Path(base) / f"{name}-{number}"
                problem = play(name, folder, agentm, model="stub" if number % 2 else SEARCHING)
                wrong += [problem] if problem else []
                shutil.rmtree(folder, ignore_errors=True)
            seconds = (time.monotonic() - started) / count
            print(f"{name}: {count - len(wrong)} of {count} used every tool, {seconds:.1f} s each", flush=True)
            for problem in dict.fromkeys(wrong):
                print(f"  {problem}", flush=True)
            failed += len(wrong)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
