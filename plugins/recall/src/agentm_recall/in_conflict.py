"""Notes that are there as conflict copies alone: a sync tool renamed both versions, so that no listing has the note.

Looking for them takes a walk through the folder. So a person who asks is always told, and an agent where it would
otherwise be told that there is nothing.
"""

from __future__ import annotations

from agentm_kernel.plugin import ConflictCopies
from agentm_recall.layout import is_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_kernel.plugin import Locator, StorageBackend

WAITS = "is in conflict: only other versions of it are there, and wait to be settled"
_MOST_NAMED = 3


def notes_in_conflict(backend: StorageBackend, folders: Iterable[Locator]) -> list[Locator]:
    """The notes below the folders that have versions, and are not there themselves."""
    copies = backend.facet(ConflictCopies)
    if copies is None:
        return []
    notes = {copy.note for folder in folders for copy in copies.conflict_copies(folder) if is_note(copy.note.key)}
    return sorted(note for note in notes if not backend.exists(note))


def line_about(notes: list[Locator]) -> str:
    """What is said in the place of "nothing"; nothing without notes."""
    if not notes:
        return ""
    named = ", ".join(note.key.removesuffix(".md") for note in notes[:_MOST_NAMED])
    more = f" and {len(notes) - _MOST_NAMED} more" if len(notes) > _MOST_NAMED else ""
    waiting = "One note waits" if len(notes) == 1 else f"{len(notes)} notes wait"
    return f"{waiting} to be settled, because a sync tool left only conflict copies: {named}{more}"
