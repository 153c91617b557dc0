"""The folder of the copy: agents edit its files whenever they like, and know nothing of our mutex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.kept import place_for
from agentm_kernel.plugin import FileStore

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator


class EditedFolder(FileStore):
    """A `FileStore` beside whose writers others edit the files. Versions that it keeps are beside the file."""

    has_other_writers = True

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return place_for(locator, digest)
