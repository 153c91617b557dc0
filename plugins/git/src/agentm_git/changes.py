"""Which notes of the folder differ from the last commit."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentm_git.folder import Folder
    from agentm_git.runner import Git

_STATUS = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
_IGNORE = ".gitignore"


@dataclass(frozen=True)
class Change:
    """A path of the folder that differs from the last commit; `code` is git's pair of letters."""

    code: str
    path: str

    @property
    def is_staged(self) -> bool:
        return self.code[0] not in " ?!"

    @property
    def what(self) -> str:
        """In words."""
        return "deleted" if "D" in self.code else "new" if self.code[0] in "?A" else "changed"


class Changes:
    """Looks at the folder of one clone. Whoever asks holds the local lock."""

    def __init__(self, git: Git, folder: Folder) -> None:
        self._git = git
        self._folder = folder

    def changes(self) -> list[Change]:
        """The notes that differ. Other files in the folder are the operator's, and git's."""
        found = [Change(entry[:2], entry[3:]) for entry in self._git.fields("status", *_STATUS)]
        return [change for change in found if self._is_note(change.path)]

    def _is_note(self, path: str) -> bool:
        """A link or a device is none, whatever its name."""
        if not self._folder.is_note(path):
            return False
        try:
            return stat.S_ISREG(os.lstat(os.path.join(self._folder.root, path)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return True

    def ignored(self) -> list[str]:
        """Notes that no commit will have, because a .gitignore in the folder says so."""
        entries = self._git.fields("status", *_STATUS, "--ignored=matching")
        paths = [entry[3:] for entry in entries if entry.startswith("!!")]
        return [path for path in paths if self._folder.is_note(path.rstrip("/"))]

    def named(self, path: str) -> list[Change]:
        """One note that was just changed. Where a .gitignore may have a say about it, git is asked."""
        if not self._folder.is_note(path):
            return []
        if self._may_be_ignored(path):
            return [change for change in self.changes() if change.path == path]
        return [Change("M ", path)]

    def _may_be_ignored(self, path: str) -> bool:
        above = path.split("/")[:-1]
        folders = [os.path.join(self._folder.root, *above[:depth]) for depth in range(len(above) + 1)]
        return any(os.path.lexists(os.path.join(folder, _IGNORE)) for folder in folders)
