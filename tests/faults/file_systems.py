"""File systems made for a campaign. They are mounted for this process alone, so nothing stays, whatever happens."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from tests.faults.mounts import CannotMount, leave_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def why_not(*tools: str) -> str | None:
    """The reason why nothing can be mounted here, with the help of `tools`; `None` if it can."""
    if os.geteuid() != 0:
        return "mounting file systems needs root"
    for tool in ("mount", "umount", *tools):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    try:
        leave_namespace()
    except CannotMount as error:
        return str(error)
    return None


@contextmanager
def mounted(*arguments: str, on: str) -> Iterator[str]:
    """`mount ARGUMENTS ON`, undone afterwards. Ask `why_not` first."""
    os.makedirs(on, exist_ok=True)
    run("mount", *arguments, on)
    try:
        yield on
    finally:
        run("umount", on)


def run(*command: str) -> str:
    """What a tool prints; if it fails, what it said is in the error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
