"""The Inspector of the Model Context Protocol as a judge: its command line, from npm, with a Node that is new enough.

`python plugins/mcp/tests/inspector.py` installs it into the user's cache directory. With `--load 2000` it calls each
of three tools so often instead, ten calls at a time, and says how that went.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from filelock import FileLock

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

import tests.node
from mcp_host import COMMAND, Home

PACKAGES = {"@modelcontextprotocol/inspector": "2.12.0", "node": "24.21.0"}
ERAS = ("legacy", "modern")
LOADED = {
    "memory_search": {"query": "widgets"},
    "memory_read": {"note": "widget-colour"},
    "memory_append": {"note": "widget-colour", "text": "Seen again."},
}
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests"
PLACE = _CACHE / f"mcp-inspector-{PACKAGES['@modelcontextprotocol/inspector']}"


def is_there() -> bool:
    return (PLACE / "installed").exists() and not os.environ.get("AGENTM_WITHOUT_SERVERS")


def install() -> None:
    npm = tests.node.npm()
    if npm is None:
        raise SystemExit("there is no npm: `python -m tests.node` installs one")
    PLACE.mkdir(parents=True, exist_ok=True)
    with FileLock(PLACE / "lock"):
        if (PLACE / "installed").exists():
            return
        (PLACE / "package.json").write_text('{"name": "agentm-tests", "private": true}\n')
        wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
        command = [*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *wanted]
        subprocess.run(command, cwd=PLACE, env=tests.node.environ_for_npm(), check=True)
        (PLACE / "installed").touch()


def inspect(home: Home, method: str, *options: str, era: str = "legacy") -> subprocess.CompletedProcess[str]:
    """Have it start a server in the project of `home` and ask for one thing."""
    commands = PLACE / "node_modules" / ".bin"
    return subprocess.run(
        [
            *(str(commands / "mcp-inspector"), "--cli", "--cwd", str(home.project), "--protocol-era", era),
            *("--format", "json", "--method", method, *options, "--", *COMMAND),
        ],
        env={**home.environ, "PATH": f"{commands}{os.pathsep}{home.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def load(home: Home, tool: str, count: int, era: str) -> dict[str, Any]:
    """Call a tool `count` times, ten at once; what the Inspector counted."""
    arguments = ("--tool-name", tool, "--tool-args-json", json.dumps(LOADED[tool]))
    done = inspect(home, "tools/call", *arguments, "--load", "--load-requests", str(count), era=era)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


def prepare(home: Home) -> None:
    saved = home.agentm("save", "--kind", "fact", "--slug", "widget-colour", input="Widgets are red.\n")
    assert saved.returncode == 0, saved.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", type=int, metavar="CALLS")
    chosen = parser.parse_args()
    install()
    if not chosen.load:
        print(PLACE)
        return 0
    failed = 0
    for era in ERAS:
        with tempfile.TemporaryDirectory(prefix="agentm-load-") as folder:
            home = Home(Path(folder))
            prepare(home)
            for tool in LOADED:
                counted = load(home, tool, chosen.load, era)
                failed += counted["errors"] + counted["toolErrors"]
                slow = counted["latencyMs"]["p99"]
                print(f"{era} {tool}: {counted['ok']} of {counted['requests']} answered, p99 {slow:.0f} ms")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
