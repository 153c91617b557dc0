"""Bring the specification's own schemas and examples into the cache of the tests: run it with the project's Python.

They are other people's text, so they are not part of this repository. Where they cannot be had, their tests are
skipped by name; `AGENTM_AIP_SPECIFICATION` names another copy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = "https://github.com/agentproto/agentproto"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "aip-specification"
_LIMIT = 120


def specification() -> Path | None:
    """The `specs` folder of a copy, if there is one."""
    given = os.environ.get("AGENTM_AIP_SPECIFICATION")
    found = Path(given) if given else CACHE / "specs"
    return found if found.is_dir() else None


def main() -> None:
    if specification() is not None:
        return
    command = ["git", "clone", "--quiet", "--depth", "1", SOURCE, str(CACHE)]
    try:
        subprocess.run(command, check=True, timeout=_LIMIT, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the AIP specification cannot be had, so its tests are skipped: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
