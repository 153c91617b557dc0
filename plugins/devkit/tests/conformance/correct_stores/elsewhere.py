"""A store whose notes are not in its own folder, as those of a server are not: it keeps its settings there."""

from __future__ import annotations

import os

from agentm_kernel.files.store import FileStore
from agentm_kernel.plugin import Capabilities


class ElsewhereStore(FileStore):
    def __init__(self, scratch: str) -> None:
        with open(os.path.join(scratch, "settings"), "w", encoding="utf-8") as file:
            file.write("nothing to set\n")
        super().__init__(f"{scratch}.notes", create_root=True)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, delete=True)
