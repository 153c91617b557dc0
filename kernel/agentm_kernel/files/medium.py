"""What the medium under a `FileStore` may add to its verbs: `FileStore(root, medium=…)`.

A plain disk adds nothing, and that is what stands here. A folder that a sync tool replicates has files that are not
notes, notes that are not here yet, and a second writer that knows nothing of our mutex; a clone may have to be
fetched before it is written to. Such a medium is a subclass that overrides what is special about it, and nothing
else. A `FileStore` asks its medium at the same points for every verb, so none of them has to be written again.
"""

from __future__ import annotations

from agentm_kernel.seam import layout
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from agentm_kernel.files.known_names import FolderNames
    from agentm_kernel.files.tree import Directory

    Beside = Callable[[str], bool]
    """Whether a directory has a file of this name."""

CONFLICTS = Locator(layout.CONFLICTS)
_LONG_KEY = 400  # bytes


class Medium:
    """The points at which a special medium has its say: names, presence, changes, other writers."""

    def is_hidden(self, name: str) -> bool:
        """Whether a file or directory is the medium's own: neither listed nor read, and nothing may be created so."""
        return False

    def is_copy(self, name: str, beside: Beside) -> bool:
        """Whether a file is a conflict copy that the medium made of a note. It is hidden too."""
        return False

    def note_name(self, name: str) -> str:
        """The name of the note that an entry stands for; another than its own for what only holds a place."""
        return name

    def check_new_name(self, locator: Locator, names: FolderNames) -> None:
        """Raise if a new note of this name would change what the `names` beside it are taken for."""

    def check_here(self) -> None:
        """Raise if the tree is not on this device yet. Asked before every verb that looks at it."""

    def when_missing(self, directory: Directory, locator: Locator) -> None:
        """Raise if the note is known to exist although its file does not: then this is not absence."""

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        """Called before a file is opened, under the mutex too: raise rather than wait for one that is elsewhere."""

    def when_unreadable(self, locator: Locator, error: OSError) -> None:
        """Raise something that says more than `error`, which reading the note has met."""

    def is_at_hand(self, status: os.stat_result) -> bool:
        """Whether a file can be read without waiting for anything."""
        return True

    def before_change(self, locator: Locator) -> None:
        """Called before a note is written or deleted or a directory made, without the mutex: raise to refuse."""

    def after_change(self, locator: Locator) -> None:
        """Called when a note has been written or deleted, without the mutex."""

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        """Where a version of a note goes that a write has displaced and nobody has seen; `digest` tells it apart."""
        return conflict_place(locator, digest, "unseen")


class EditedFolder(Medium):
    """A folder whose files people and their tools edit: what they save while we write is kept beside the note."""

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return locator.beside(f"unseen {digest[:8]}")


def shows_all_names(medium: Medium) -> bool:
    """Whether a medium leaves every name as it is, so that a listing need not ask about each."""
    kind = type(medium)
    return (kind.is_hidden, kind.is_copy, kind.note_name) == (Medium.is_hidden, Medium.is_copy, Medium.note_name)


def conflict_place(note: Locator, digest: str, why: str) -> Locator:
    """Where a version of `note` goes that nobody has seen: `_meta/conflicts/<the note's key>/<why>-<hash>.md`."""
    if len(note.key.encode()) > _LONG_KEY:
        return last_resort(note, digest, why)
    return CONFLICTS.child(note.key, f"{why}-{digest[:12]}{note.short_suffix}")


def last_resort(note: Locator, digest: str, why: str = "unseen") -> Locator:
    """For a key that leaves no room for more, or that is spelled like another one."""
    from agentm_kernel.seam.content import content_hash

    return CONFLICTS.child(f"long-{content_hash(note.key)}", f"{why}-{digest[:12]}{note.short_suffix}")
