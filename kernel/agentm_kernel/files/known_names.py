"""The names in a folder, listed once for several notes that are new in it.

A new note must differ from what lies beside it by more than case or Unicode form, so its folder is listed first, and
among a thousand notes that costs as much as the write. The list is used again if nothing has changed in the folder
since: after each of our notes we leave a mark in the folder's times that every later change replaces, by whatever
program it is made. Only what another program makes between our look and our mark can go unseen, for a second.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort

from agentm_kernel.files.reading import composed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory

_GOOD_FOR = 1.0
_MOST_FOLDERS = 50
_NEVER = (0, 0)


class FolderNames(list[str]):
    """The names in a folder, and sorted beside them how they are spelled once they are folded."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.mark, self.until = _NEVER, time.monotonic() + _GOOD_FOR
        self._folded = sorted(composed("\0".join(names)).casefold().split("\0"))  # thousands in one step

    def add(self, name: str) -> None:
        self.append(name)
        insort(self._folded, composed(name).casefold())

    def has_beginning(self, folded: str) -> bool:
        """Whether one of the names begins so, once it is folded."""
        at = bisect_left(self._folded, folded)
        return at < len(self._folded) and self._folded[at].startswith(folded)

    def may_have(self, name: str) -> bool:
        """Whether `name` is there, or another spelling of it."""
        folded = name.casefold()
        at = bisect_left(self._folded, folded)
        return at < len(self._folded) and self._folded[at] == folded

    def clashing_with(self, name: str) -> str | None:
        """The one that differs from the free `name` only in case or Unicode form."""
        if not self.may_have(name):
            return None
        folded = name.casefold()
        return next((other for other in self if composed(other).casefold() == folded and other != name), None)


class KnownNames:
    """The folders of one store. For the holder of its mutex."""

    def __init__(self) -> None:
        self._folders: dict[tuple[int, int], FolderNames] = {}

    def known(self, directory: Directory) -> FolderNames | None:
        """The names in the folder, if they were remembered and are still right."""
        status = directory.own_status()
        known = self._folders.pop((status.st_dev, status.st_ino), None)
        if known is None or (status.st_mtime_ns, status.st_ctime_ns) != known.mark or time.monotonic() >= known.until:
            return None
        return known

    def remember(self, directory: Directory, names: FolderNames, name: str) -> None:
        """What was listed is still right, but for `name`, which we have just made."""
        mark = directory.mark()
        if mark is not None:
            names.mark = mark
            names.add(name)
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            self._folders[directory.identity] = names
