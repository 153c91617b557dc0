"""A new version of a note, made durable before its writer has the store's mutex, if others want that too.

Making a file durable takes as long as all the rest of a write, and needs no mutex; but only the holder of the mutex
can tell what it has to be like. So this is a draft. Its file is taken if it is still there, in the very directory of
the note, with the owner and mode that the note has then; otherwise the version is written once more. Whoever sweeps
the directory may therefore remove a draft like the temp file of a killed writer.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError
from agentm_kernel.files.atomic import discard, write_temp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.files.writing import StoreWriter
    from agentm_kernel.seam.locator import Locator


class Draft:
    """The version `data` of the note at `locator`, from when it is made to the end of the block."""

    def __init__(self, writer: StoreWriter, locator: Locator, data: bytes) -> None:
        self._writer, self._locator, self._data = writer, locator, data
        self._directory: Directory | None = None
        self._temp = ""

    def make(self) -> None:
        """Write it if that can be. Whatever is in the way, the holder of the mutex will meet it too, and say so."""
        if self._directory is not None:
            return
        try:
            self._directory = own = self._writer.reader.open_parent(self._locator)
            if own.identity in self._writer.swept:
                self._replaced = own.status(self._locator.name)
                self._temp = own.new_temp_name()
                write_temp(own, self._temp, self._data, self._replaced)
                self._made = own.status(self._temp)
        except (OSError, AgentmError):
            self.__exit__()

    def take(self, parent: Directory, status: os.stat_result | None) -> str | None:
        """The name of the finished file in `parent`, if it can replace what has this status there."""
        own, temp = self._directory, self._temp
        if own is None or not temp or _likeness(status) != _likeness(self._replaced):
            return None
        if (own.identity, own.is_private) != (parent.identity, parent.is_private):
            return None
        found = parent.status(temp)
        if found is None or self._made is None or not os.path.samestat(found, self._made):
            return None
        self._temp = ""
        return temp

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *_: object) -> None:
        own, self._directory = self._directory, None
        if own is not None:
            with own:
                if self._temp:
                    discard(own, self._temp)


def _likeness(status: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if status is None else (status.st_mode, status.st_uid, status.st_gid)
