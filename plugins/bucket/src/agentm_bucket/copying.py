"""The folder of the copy: agents edit its files whenever they like, and know nothing of our mutex.

A rename would drop an edit that was made between our look at a file and our write. So the two are exchanged in one
step, and what had the name is looked at afterwards: if it is not what was expected, it gets its name back.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from agentm_bucket.kept import place_for
from agentm_kernel.files.failures import changed
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.content import content_hash

if TYPE_CHECKING:
    from agentm_kernel.files.atomic import Publish
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.backend import Absent
    from agentm_kernel.seam.locator import Locator


class EditedFolder(FileStore):
    """A `FileStore` beside whose writers others edit the files in place."""

    def publisher(
        self,
        directory: Directory,
        locator: Locator,
        data: bytes,
        status: os.stat_result | None,
        if_match: str | Absent | None,
    ) -> Publish | None:
        return _Exchange(locator, if_match, data) if isinstance(if_match, str) else None


class _Exchange:
    """Takes over the name of a file that was seen with the hash `seen`."""

    def __init__(self, file: Locator, seen: str, data: bytes) -> None:
        self._file = file
        self._seen = seen
        self._data = data

    def __call__(self, directory: Directory, temp: str, name: str) -> None:
        try:
            if not directory.exchange(temp, name):
                self._replace_after_another_look(directory, temp, name)
                return
        except FileNotFoundError:
            raise changed(self._file, "it is not there any more") from None
        if _digest(directory, temp) == self._seen:
            directory.unlink(temp)
            return
        directory.exchange(temp, name)
        if _digest(directory, temp) != content_hash(self._data):  # ours, too, was edited in the moment it was there
            directory.replace(temp, place_for(self._file, self._data.decode()).name)
        raise self._refusal()

    def _replace_after_another_look(self, directory: Directory, temp: str, name: str) -> None:
        """Where names cannot be exchanged, all that is left open is the time between two system calls."""
        if _digest(directory, name) != self._seen:
            raise self._refusal()
        directory.replace(temp, name)

    def _refusal(self) -> Exception:
        return changed(self._file, "it was edited in this very moment")


def _digest(directory: Directory, name: str) -> str | None:
    """The content hash of a file; `None` for one that cannot be read, which then is not what was expected."""
    try:
        with os.fdopen(directory.open_file(name), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
