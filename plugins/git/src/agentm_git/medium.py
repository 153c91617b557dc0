"""What a folder is like that a clone is."""

from __future__ import annotations

from agentm_kernel.plugin import Medium

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator

GIT = ".git"


class CloneFolder(Medium):
    """Git's own directory is no note, and the operator edits and pulls here too."""

    def is_hidden(self, name: str) -> bool:
        return name == GIT

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        from agentm_kernel.plugin import conflict_place

        return conflict_place(locator, digest, "kept")
