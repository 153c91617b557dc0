"""A home with a store in it that looks like somebody's after some weeks: what the page is shown with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

STAMP = '{"version": 1, "id": "6b0c1d52-page", "created": "2026-01-01T00:00:00+00:00", "layout": 1}\n'
AGENTM = (sys.executable, "-c", "import sys; from agentm_kernel.cli.main import main; sys.exit(main())")

JITTER = """# Retry with full jitter

Calls to the bank's API are retried at most five times with full jitter, because fixed delays made every worker come
back at the same moment.

- base delay: 200 ms
- cap: 20 s
- see `src/pay/retry.py`

```python
sleep(random.uniform(0, min(cap, base * 2**attempt)))
```

It replaces what [[fixed-delay]] said.
"""
SETTLEMENT = """# Settlement runs time out at month's end

The bank answers after 40 s on the last working day. `src/pay/settle.py` waits 30 s.

| day | p50 | p99 |
|---|---|---|
| usual | 0.8 s | 3 s |
| last | 22 s | 41 s |
"""
REFUNDS = "# Who owns refunds?\n\nNobody has decided. See [[settlement-timeout]] and `src/pay/retry.py`.\n"

NOTES = (
    # project, folder, name, days ago, source, more front matter, body
    ("payments", "decisions", "retry-with-jitter", 0.1, "agent", "tags: [retries, http]\nconfidence: 0.9\n", JITTER),
    (
        "payments",
        "decisions",
        "fixed-delay",
        40,
        "agent",
        "",
        "# Retry after a fixed delay\n\nOne second.\n",
    ),
    ("payments", "known-issues", "settlement-timeout", 0.4, "agent", "tags: [bank]\n", SETTLEMENT),
    (
        "payments",
        "conventions",
        "money-is-integers",
        12,
        "operator",
        "",
        "# Money is integers\n\nNever floats.\n",
    ),
    ("payments", "open-questions", "who-owns-refunds", 200, "agent", "", REFUNDS),
    (
        "atlas",
        "decisions",
        "tiles-from-bucket",
        3,
        "agent",
        "",
        "# Tiles are in a bucket\n\nSee `tiles/serve.go`.\n",
    ),
    (
        "atlas",
        "facts",
        "zoom-levels",
        5,
        "claude-mem",
        "origin: observations/17\n",
        "# There are 18 zoom levels\n\nSee `tiles/serve.go`.\n",
    ),
    ("atlas", "decisions", "go-1-24", 90, "agent", "status: deleted\n", "# Go 1.24\n\nUntil 1.25 is out.\n"),
    (None, "_always-load", "tone", 30, "operator", "", "# Write plainly\n\nShort sentences. No filler.\n"),
    (None, "conventions", "commits", 2, "operator", "", "# Commits are imperative\n\nOne change each.\n"),
)


class Home:
    """A home of its own, with the default store, a checkout, and the page."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path / ".agentm" / "memory"
        self.checkout = path / "payments"
        (self.checkout / ".git").mkdir(parents=True)
        (self.checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.checkout / ".git" / "config").write_text(
            '[remote "origin"]\n\turl = git@example.com:ana/payments.git\n'
        )
        self.environ = {
            "HOME": str(path),
            "PATH": f"{path / 'bin'}:{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "AGENTM_PATIENCE": "30",
        }
        self.note("_meta/store.json", STAMP)
        for slug in ("payments", "atlas"):
            record = {"version": 1, "id": slug, "remotes": [f"example.com/ana/{slug}"]}
            self.note(f"projects/{slug}/_project.json", json.dumps(record) + "\n")

    def note(self, key: str, text: str) -> Path:
        file = self.root / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def fill(self) -> Home:
        for project, folder, name, days, source, extra, body in NOTES:
            place = f"projects/{project}" if project else "personal"
            when = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
            status = "" if "status:" in extra else "status: active\n"
            head = f"---\n{status}{extra}created: {when}\nupdated: {when}\nsource: {source}\n---\n\n"
            if name == "retry-with-jitter":
                head = head.replace("source:", "supersedes: [fixed-delay]\nsource:")
            file = self.note(f"{place}/{folder}/{name}.md", head + body)
            os.utime(file, (1_750_000_000, 1_750_000_000))
        harness = self.checkout / ".harness"
        harness.mkdir(exist_ok=True)
        (harness / "PLAN.md").write_text("# Plan\n\n- [x] retries\n- [ ] settlement over month's end\n")
        (harness / "progress.md").write_text("- 2026-11-15 retries are in\n")
        return self

    def agentm(self, *arguments: str, input: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*AGENTM, *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.checkout,
            env=self.environ,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def connect(self) -> None:
        """Connect Claude Code, as `agentm setup` does; the launcher is this very interpreter."""
        launcher = self.path / "bin" / "agentm"
        launcher.parent.mkdir(exist_ok=True)
        launcher.write_text(f"#!{sys.executable} -P\n{AGENTM[-1]}\n")
        launcher.chmod(0o755)
        (self.path / ".claude").mkdir(exist_ok=True)
        self.agentm("connect", "claude-code")

    def session(self, name: str, *, arrives: bool = True) -> str:
        """A session of Claude Code that begins: its hook is run, and it writes down what its model got."""
        transcript = self.path / f"{name}.jsonl"
        payload = {"session_id": name, "cwd": str(self.checkout), "transcript_path": str(transcript)}
        done = self.agentm("hook", "session-start", "--host", "claude-code", input=json.dumps(payload))
        text: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        kind = "hook_additional_context" if arrives else "hook_success"
        entry = {"type": "attachment", "attachment": {"type": kind, "hookEvent": "SessionStart", "content": [text]}}
        transcript.write_text(json.dumps(entry) + "\n")
        if not arrives:
            self.agentm("hook", "session-end", "--host", "claude-code", input=json.dumps(payload))
        return text

    def propose(self, slug: str, body: str, kind: str = "decision") -> None:
        """What a program saves while the operator wants to see it first."""
        self.agentm("config", "set", "capture.approve", "all")
        self.agentm("save", "--kind", kind, "--slug", slug, input=body)

    def text(self, key: str) -> str:
        return (self.root / key).read_bytes().decode()


class Page:
    """`agentm view` as a process of its own."""

    def __init__(self, home: Home, *arguments: str, store: str | None = None) -> None:
        self.process = subprocess.Popen(
            [*AGENTM, *(("--store", store) if store else ()), "view", "--no-browser", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home.checkout,
            env=home.environ,
        )
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.strip().startswith("http://"):
                self.address = line.strip()
            if "Ctrl-C" in line:
                break
        assert hasattr(self, "address"), (lines, self.process.stderr and self.process.stderr.read())
        self.origin, _, self.token = self.address.partition("/#token=")
        self.port = int(self.origin.rpartition(":")[2])

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=10)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
