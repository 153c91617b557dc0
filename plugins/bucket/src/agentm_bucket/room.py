"""Is there room for a new key? Asked of listings, because an object store itself takes any name beside any other.

Best effort by nature: two machines that create clashing names in the same instant are both let in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import LocatorConflictError

if TYPE_CHECKING:
    from agentm_bucket.client import Client
    from agentm_bucket.waiting import Deadline
    from agentm_kernel.plugin import Locator


def check_room(client: Client, locator: Locator, deadline: Deadline, *, is_folder: bool = False) -> None:
    """Raise `LocatorConflictError` if what is stored leaves no room for the note, or the folder, at `locator`.

    Looks at its siblings, and further up only while folders are new: those above were looked at when they were made.
    """
    new = locator
    while True:
        parent = client.place.path(new.parent.key)
        found = client.folder(parent, deadline)
        files = {entry.path.rpartition("/")[2] for entry in found.files}
        folders = {path.rpartition("/")[2] for path in found.folders}
        if (
            new.name in folders and new is locator and not is_folder
        ):  # one above may have been made since it was looked at
            raise LocatorConflictError(f"'{new}' is a directory, so no note can be stored there")
        if new.name in files and new is not locator:
            raise LocatorConflictError(f"'{new}' is a note, so '{locator}' cannot be stored below it")
        _check_spelling(new, files | folders)
        if files or folders or not new.parent.key:
            return
        new = new.parent


def _check_spelling(new: Locator, names: set[str]) -> None:
    folded = new.name.casefold()
    for name in sorted(names):
        if name != new.name and name.casefold() == folded:
            raise LocatorConflictError(
                f"'{new}' differs only in case from the stored '{name}'", hint="use the stored spelling"
            )
