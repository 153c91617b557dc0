"""Fetch the test suites of the packages that the adapters serve: run it with the project's own Python.

Where a wheel does not bring its suite, the source distribution does. It is unpacked into a cache outside of the
repository and run from there; nothing of it is in the tree.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "suites"
FROM_SOURCE = ("anthropic", "openai-agents", "langgraph-checkpoint")
"""In the version that is installed here, so that suite and package fit together."""
PINNED = {"langgraph-checkpoint-sqlite": "3.1.2"}
"""Only its tests are of interest: they are written for any store."""


def source_of(name: str) -> Path:
    """Where the source distribution lies unpacked, whether or not it is there yet."""
    return CACHE / f"{name.replace('-', '_')}-{PINNED.get(name) or version(name)}"


def is_there(name: str) -> bool:
    return (source_of(name) / "pyproject.toml").exists()


def main() -> None:
    for name in (*FROM_SOURCE, *PINNED):
        if not is_there(name):
            _fetch(name)


def _fetch(name: str) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = f"{name}=={PINNED.get(name) or version(name)}"
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--no-binary", name, "--dest", folder, wanted], check=True)
        archive = next(Path(folder).glob("*.tar.gz"))
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        unpacked = next(path for path in Path(folder).iterdir() if path.is_dir())
        try:
            unpacked.rename(source_of(name))
        except OSError:  # another checkout fetched it at the same time
            if not is_there(name):
                raise


if __name__ == "__main__":
    main()
