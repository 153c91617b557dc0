"""A `git` in front of the real one that ends whoever calls it, with SIGKILL, at a chosen call.

It shows every point between two steps of an operation, and the middle of each step, without knowing how the operation
is built: the caller only finds `git` on its PATH.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

MOMENTS = ("before", "during", "after")

_SCRIPT = """\
#!/bin/sh
trap="{folder}"
echo "$(printf '%s' "$*" | tr '\\n' ' ')" >> "$trap/calls"
call=$(wc -l < "$trap/calls")
[ "$call" -eq "$(cat "$trap/at")" ] || exec "{git}" "$@"
case $(cat "$trap/moment") in
before) kill -9 $PPID ;;
after) "{git}" "$@"; kill -9 $PPID ;;
during)
    "{git}" "$@" <&0 &
    sleep "$(cat "$trap/delay")"
    kill -9 $! $PPID ;;
esac
"""


class TrappedGit:
    """A folder for the front of PATH."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder)
        self.folder = folder
        real = shutil.which("git")
        assert real is not None
        program = os.path.join(folder, "git")
        Path(program).write_text(_SCRIPT.format(folder=folder, git=real))
        os.chmod(program, stat.S_IRWXU)
        self.arm(0, "before")

    @property
    def path(self) -> str:
        return os.pathsep.join((self.folder, os.environ["PATH"]))

    def arm(self, call: int, moment: str, delay: float = 0.002) -> None:
        """Spring at the call of this number, counted from now; 0 never."""
        for name, value in (("at", str(call)), ("moment", moment), ("delay", f"{delay:.4f}"), ("calls", "")):
            Path(self.folder, name).write_text(value)

    def calls(self) -> list[str]:
        """The arguments of the calls since it was armed."""
        return Path(self.folder, "calls").read_text().splitlines()
