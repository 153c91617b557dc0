"""axe-core from npm, which looks at a page as somebody does who cannot see it, hear it or use a mouse.

`python tests/view/axe.py` installs it into the user's cache directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tests.node

VERSION = "4.10.3"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / f"axe-core-{VERSION}"
SCRIPT = _CACHE / "node_modules" / "axe-core" / "axe.min.js"


def install() -> None:
    npm = tests.node.npm()
    if npm is None:
        raise SystemExit("there is no npm: `python -m tests.node` installs one")
    _CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(_CACHE / "lock"):
        if SCRIPT.exists():
            return
        (_CACHE / "package.json").write_text('{"name": "agentm-tests", "private": true}\n')
        command = [*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", f"axe-core@{VERSION}"]
        subprocess.run(command, cwd=_CACHE, env=tests.node.environ_for_npm(), check=True, capture_output=True)


if __name__ == "__main__":
    install()
