"""The same tree as the verbs of a `FileStore` see, by bytes: for plugins that compare or bring in whole files.

Everything goes the confined way: from the open root along no link, changes under the store's mutex, in one step and
on condition. `FileStore.tree` makes one.
"""

from __future__ import annotations

import stat

from agentm_kernel.errors import NotFoundError
from agentm_kernel.files.failures import Failures
from agentm_kernel.files.swap import hash_of_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.files.reading import StoreReader
    from agentm_kernel.files.writing import StoreWriter
    from agentm_kernel.seam.backend import Absent
    from agentm_kernel.seam.locator import Locator


class BytesTree:
    """Notes as bytes. The medium's naming rules hold; its `before_change` and `after_change` are not called."""

    def __init__(self, reader: StoreReader, writer: Callable[[], StoreWriter]) -> None:
        self._reader = reader
        self._writer = writer

    def read(self, locator: Locator) -> bytes | None:
        """What is stored at `locator`; `None` for nothing, and for a directory."""
        try:
            with Failures("read", locator, reading=True), self._reader.open_parent(locator) as parent:
                return self._reader.read_bytes(parent, locator)
        except NotFoundError:
            return None

    def hash(self, locator: Locator) -> str | None:
        """The content hash of the file at `locator`, of any size and kind of text; `None` where no file is."""
        try:
            with Failures("read", locator, reading=True), self._reader.open_parent(locator) as parent:
                status = parent.status(locator.name)
                if status is None or not stat.S_ISREG(status.st_mode):
                    return None
                return hash_of_note(self._reader.medium, parent, locator, status)
        except NotFoundError:
            return None

    def write(self, locator: Locator, data: bytes, if_match: str | Absent | None = None) -> None:
        """As the verb, with bytes that need not be text."""
        self._writer().write(locator, data, if_match)

    def delete(self, locator: Locator, if_match: str | None = None) -> None:
        """As the verb."""
        self._writer().delete(locator, if_match)

    def remove_empty_directory(self, locator: Locator) -> bool:
        """Whether there was an empty directory, which is gone now."""
        try:
            with self._reader.open_parent(locator) as parent:
                parent.remove_dir(locator.name)
        except OSError:  # not found, not empty, not a directory
            return False
        return True
