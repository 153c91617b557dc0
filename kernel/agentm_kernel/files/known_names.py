"""The names in a folder, listed once for several notes that are new in it.

A new note must differ from what lies beside it by more than case or Unicode form, so its folder is listed first, and
among a thousand notes that costs as much as the write. The list is used again if nothing has changed in the folder
since: after each of our notes we leave a mark in the folder's times that every later change replaces, by whatever
program it is made. Only what another program makes while a write of ours is under way can go unseen, for a second.
"""

from __future__ import annotations

import time

from agentm_kernel.files.reading import composed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory

_GOOD_FOR = 1.0
_MOST_FOLDERS = 50
_NEVER = (0, 0)


class FolderNames(list[str]):
    """The names in a folder, and all of them in one text: thousands are compared in one step."""

    def __init__(self, names: list[str], until: float = 0.0) -> None:
        super().__init__(names)
        self.mark, self.until = _NEVER, until
        self.folded = "\0".join(("", *names, "")).casefold()  # no name has this character

    def add(self, name: str) -> None:
        self.append(name)
        self.folded += f"{name.casefold()}\0"

    def clashing_with(self, name: str) -> str | None:
        """The one that differs from the free `name` only in case or Unicode form."""
        folded = name.casefold()
        if self.folded.isascii() and f"\0{folded}\0" not in self.folded:
            return None
        return next((other for other in self if composed(other).casefold() == folded and other != name), None)


class KnownNames:
    """The folders of one store. For the holder of its mutex."""

    def __init__(self) -> None:
        self._folders: dict[tuple[int, int], FolderNames] = {}

    def listed(self, directory: Directory) -> FolderNames:
        """The names in the folder."""
        known = self._folders.pop(directory.identity, None)
        now = time.monotonic()
        if known is not None and now < known.until and directory.times() == known.mark:
            return known
        return FolderNames(directory.names(), now + _GOOD_FOR)

    def remember(self, directory: Directory, names: FolderNames, name: str) -> None:
        """What was listed is still right, but for `name`, which we have just made."""
        mark = directory.mark()
        if mark is not None:
            names.mark = mark
            names.add(name)
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            self._folders[directory.identity] = names
