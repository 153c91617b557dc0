"""Whether what this process has loaded is still what is installed.

A server lives for days, and modules are loaded when they are first needed: after an upgrade it would run old ones and
new ones together, which nobody has ever tested and which may write what neither version can read.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.plugin import Device

MESSAGE = "agentm, or a plugin of it, was upgraded or removed while this server was running"
HINT = (
    "nothing was done; ask the user to restart this MCP server, or the session. Until then the command does the "
    "same: `agentm search WORDS`, `agentm save --help`"
)


class Loaded:
    """The files of the modules of agentm and its plugins, as they were when each was loaded."""

    def __init__(self) -> None:
        self._packages = {"agentm_kernel", __name__.partition(".")[0]}
        self._files: dict[str, tuple[int, int] | None] = {}
        self._note()

    def note(self) -> None:
        """Remember what was loaded since; soon afterwards, for then the file is still the one."""
        records = Device.now().plugins.records
        self._packages |= {record.value.partition(":")[0].partition(".")[0] for record in records}
        self._note()

    def _note(self) -> None:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) if name.partition(".")[0] in self._packages else None
            if file and file not in self._files:
                self._files[file] = _state(file)

    def is_replaced(self) -> bool:
        """Whether any of them is another file now, or gone."""
        return any(_state(file) != state for file, state in list(self._files.items()))


def _state(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None  # in an archive, from the beginning; else it is gone
    return status.st_mtime_ns, status.st_size
