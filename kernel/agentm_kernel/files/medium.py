"""What the medium under a file store may add to its verbs.

A plain disk adds nothing, and that is what stands here. A folder that a sync tool replicates has files that are not
notes, notes that are not here yet, and a second writer that knows nothing of our mutex: such a store overrides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.locator import Locator

    Beside = Callable[[str], bool]
    """Whether a directory has a file of this name."""


class Medium:
    """The points at which a store on a special medium has its say; `FileStore` asks at each of them."""

    def is_hidden(self, name: str) -> bool:
        """Whether a file or directory belongs to the medium rather than to the store: a sync tool's own, say.

        Such an entry is neither listed nor read, and nothing may be created under its name.
        """
        return False

    def is_copy(self, name: str, beside: Beside) -> bool:
        """Whether a file is a conflict copy that the medium made of a note. It is hidden too."""
        return False

    def note_name(self, name: str) -> str:
        """The name of the note that an entry stands for; another than its own for what only holds a place."""
        return name

    def check_new_name(self, locator: Locator, names: Collection[str]) -> None:
        """Raise if a new note of this name would change what the `names` beside it are taken for."""

    def when_missing(self, directory: Directory, locator: Locator) -> None:
        """Raise if the note is known to exist although its file does not: then this is not absence."""

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        """Called before a file is opened, under the mutex too: raise rather than wait for one that is elsewhere."""

    def when_unreadable(self, locator: Locator, error: OSError) -> None:
        """Raise something that says more than `error`, which reading the note has met."""

    has_other_writers = False
    """Whether others change the files who know nothing of our mutex: then nothing is dropped unseen."""

    def is_at_hand(self, status: os.stat_result) -> bool:
        """Whether a file can be read without waiting for anything."""
        return True

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        """Where a version of a note goes that a write has displaced and nobody has seen; `digest` tells it apart."""
        from agentm_kernel.files.swap import conflict_place

        return conflict_place(locator, digest, "unseen")


def shows_all_names(medium: Medium) -> bool:
    """Whether a medium leaves every name as it is, so that a listing need not ask about each."""
    kind = type(medium)
    return (kind.is_hidden, kind.is_copy, kind.note_name) == (Medium.is_hidden, Medium.is_copy, Medium.note_name)
