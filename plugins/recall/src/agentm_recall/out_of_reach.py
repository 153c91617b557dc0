"""Notes that a person has where no session starts with them: another program let them have such a name or place.

Agentm itself makes neither. A file manager, or an editor of Markdown, renames and moves as its system allows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator
from agentm_recall.index.place import is_elsewhere
from agentm_recall.layout import PERSONAL, PROJECT_FOLDERS, is_note, is_personal, project_of
from agentm_recall.lookup import note_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_kernel.plugin import StorageBackend

UNNAMED = "is no note, because of its name (any system must be able to have it, so no ? or :, say) or as it is a link"
NOWHERE = "in no project and not in personal/"


def unnamed_notes(backend: StorageBackend, folders: Iterable[Locator]) -> Iterator[str]:
    """Markdown below the folders that no key can name, and folders that may have some. Nothing else tells of them."""
    if is_elsewhere(backend):
        return
    for folder in folders:
        for path in backend.foreign_entries(folder):
            extension = os.path.splitext(path)[1]
            is_attachment = extension != ".md" and extension[1:].isalnum()
            if not (is_attachment or path.startswith(".") or f"{os.sep}." in path):
                yield path


def notes_nowhere(backend: StorageBackend) -> Iterator[str]:
    """Keys of notes that a search finds, and that no project and no person has by their place."""
    for entry in backend.list(Locator()):
        keys: Iterable[str]
        if entry.key in (PERSONAL, *PROJECT_FOLDERS):
            keys = (child.key for child in backend.list(entry))  # deeper ones have a place; a walk takes a second
        else:
            keys = (entry.key, *(info.locator.key for info in note_files(backend, entry)))
        yield from (key for key in keys if is_note(key) and is_nowhere(key))


def is_nowhere(key: str) -> bool:
    return not is_personal(key) and project_of(key) is None
