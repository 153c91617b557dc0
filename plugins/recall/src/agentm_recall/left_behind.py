"""Notes and plans under a name that their project has left: a device wrote them before it heard of the move.

In a store that devices share, a note and the word that its project has another name, or is in another store, can be
written at the same time. The note comes to the old name then, where no session looks for it.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import AgentmError, ConflictCopies, Locator, layout, read_record
from agentm_recall.layout import PROJECT_FOLDERS, is_note

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend


class LeftBehind(NamedTuple):
    """What lies under a name that only says where its project went."""

    name: str
    files: int
    why: str
    """What became of the project."""
    way_out: str
    """What to run."""


def left_behind(store: StorageBackend) -> list[LeftBehind]:
    """The names that were left and have notes or plans. One listing, and one small read for each project."""
    found = []
    for folder in [folder for tree in PROJECT_FOLDERS for folder in store.list(Locator(tree))]:
        name = folder.name
        try:
            record = read_record(store, name)
        except AgentmError:
            continue  # who needs the project is told
        why = None if record is None else record.unread_in(folder)
        if record is None or why is None or not (count := _files(store, folder)):
            continue
        way_out = f"run `agentm project rename {quote(name)} {quote(record.slug)}`, which takes them along"
        if record.elsewhere is not None:
            way_out = "run `agentm project use-store NAME --move --yes` in its folder, with the name of that store"
        copies = store.facet(ConflictCopies)
        if copies is not None and copies.conflict_copies(folder.child(layout.PROJECT_RECORD)):
            continue  # another project has taken the name meanwhile, and reads what lies there
        found.append(LeftBehind(name, count, why, way_out))
    return found


def _files(store: StorageBackend, folder: Locator) -> int:
    """How many notes, plans and other state there are in the folder of a project."""
    found = (info.locator for info in store.walk(folder) if not info.is_dir)
    return sum(is_note(file.key) or layout.HARNESS in file.parts for file in found)
