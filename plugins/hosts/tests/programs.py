"""The real agent hosts for the tests: programs from npm, each installed once into the user's cache directory.

`python plugins/hosts/tests/programs.py` installs them, a minute or so the first time. They are started against model
stubs on loopback only, each in a home of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

import tests.node

REQUIRE = "AGENTM_REQUIRE_SERVERS"
"""With this variable set to 1, a program that is missing is a failure."""
WITHOUT = "AGENTM_WITHOUT_SERVERS"
"""With this one, there is none, installed or not."""

PROGRAMS = {
    "claude-code": ("@anthropic-ai/claude-code", "2.1.325", "claude"),
    "claude-code-2.1.197": ("@anthropic-ai/claude-code", "2.1.197", "claude"),
    "codex": ("@openai/codex", "0.166.0", "codex"),
    "gemini": ("@google/gemini-cli", "0.61.0", "gemini"),
    "copilot": ("@github/copilot", "1.0.102", "copilot"),
}
"""Name here -> package, pinned version, command."""

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "agent-hosts"


class Unavailable(Exception):
    """Why there is no such program."""


def place(name: str) -> Path:
    package, version, _ = PROGRAMS[name]
    return _CACHE / f"{package.rpartition('/')[2]}-{version}"


def program(name: str) -> Path:
    """The command of an installed program."""
    if os.environ.get(WITHOUT) == "1":
        raise Unavailable(f"the real programs were left out: {name}")
    if tests.node.node() is None:
        raise Unavailable(f"{name} needs Node, which is not installed: run `make servers`")
    if not (place(name) / "installed").exists():
        raise Unavailable(f"{name} is not installed: run `make servers`")
    return place(name) / "node_modules" / ".bin" / PROGRAMS[name][2]


def install(name: str) -> None:
    """Put one program into the cache, unless it is there."""
    npm = tests.node.npm()
    if npm is None:
        raise Unavailable("there is no npm: `python -m tests.node` installs one")
    package, version, _ = PROGRAMS[name]
    folder = place(name)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if (folder / "installed").exists():
            return
        (folder / "package.json").write_text('{"name": "agentm-tests", "private": true}\n')
        command = [*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"]
        environ = tests.node.environ_for_npm()
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"npm cannot install {package}@{version}: {done.stderr.strip()[-300:]}")
        (folder / "installed").touch()


if __name__ == "__main__":
    for each in PROGRAMS:
        install(each)
        print(place(each))
