from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentm_kernel.plugin import Device

MAIN = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


class Laptop:
    """A home with a project in it, and the command as hosts start it."""

    def __init__(self, path: Path) -> None:
        self.home = path / "home"
        self.project = self.home / "widgets"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.home / "bin").mkdir()
        self.agentm = self.home / "bin" / "agentm"
        self.agentm.write_text(f"#!{sys.executable} -P\n{MAIN}\n")
        self.agentm.chmod(0o755)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.state = self.home / ".local" / "state" / "agentm"

    @property
    def device(self) -> Device:
        return Device.now(self.environ)

    def run(self, *arguments: str, text: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.agentm), *arguments],
            cwd=self.project,
            env={**self.environ, **environ},
            input=text,
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def must(self, *arguments: str, text: str = "") -> str:
        done = self.run(*arguments, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hook(self, event: str, host: str = "claude-code", **payload: Any) -> str:
        """What a hook answers; it always ends well."""
        given = {"session_id": "s1", "cwd": str(self.project), **payload}
        done = self.run("hook", event, "--host", host, text=json.dumps(given))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def context(self, event: str, host: str = "claude-code", **payload: Any) -> str:
        """The text in the answer; nothing where there is no answer."""
        answer = self.hook(event, host, **payload)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def listen(self, first: str) -> Path:
        """Install a plugin that does `first` at every event, and then writes it down in the file returned."""
        site, seen = self.home / "site", self.home / "seen"
        (site / "listener-1.0.dist-info").mkdir(parents=True)
        (site / "listener-1.0.dist-info" / "entry_points.txt").write_text("[agentm.plugins.event]\nx = listener\n")
        (site / "listener.py").write_text(
            "import sys, time\nfrom agentm_kernel.plugin import hookimpl\n"
            "@hookimpl\ndef agentm_event(name, payload, context):\n"
            f"    {first}\n    open({str(seen)!r}, 'a').write(f\"{{name}} {{payload['session_id']}}\\n\")\n"
        )
        self.agentm.write_text(
            self.agentm.read_text().replace("import sys;", f"import sys; sys.path.insert(0, {str(site)!r});")
        )
        return seen

    def ledger(self, host: str = "claude-code") -> list[dict[str, Any]]:
        file = self.state / "deliveries" / f"{host}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def wait_for(self, condition: Any, seconds: float = 20.0) -> None:
        """Hooks leave work to the background."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "the background has not done it"
            time.sleep(0.05)


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    for name in [
        name for name in os.environ if name.startswith(("XDG_", "AGENTM_", "MEMORY_", "HARNESS_", "CLAUDE"))
    ]:
        if not name.startswith(("AGENTM_REQUIRE", "AGENTM_WITHOUT")):
            monkeypatch.delenv(name)
    return Laptop(tmp_path)
