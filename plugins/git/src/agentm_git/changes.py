"""Which notes of the folder differ from the last commit."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.runner import GitFailed

if TYPE_CHECKING:
    from agentm_git.folder import Folder
    from agentm_git.runner import Git

_STATUS = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
_IGNORE = ".gitignore"
_CODES = {"add": "M ", "remove": "D "}


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
        self._may_add_all = True

    def changes(self) -> list[Change]:
        """The notes that differ. Other files in the folder are the operator's, and git's."""
        found = [Change(entry[:2], entry[3:]) for entry in self._git.fields("status", *_STATUS)]
        return [change for change in found if self._is_note(change.path)]

    def _is_note(self, path: str) -> bool:
        """A link or a device is none, whatever its name."""
        if not self._folder.is_note(path):
            return False
        try:
            mode = os.lstat(os.path.join(self._folder.root, path)).st_mode
            return stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # where a folder is, the note that git knows is gone
        except (FileNotFoundError, NotADirectoryError):
            return True

    def ignored(self) -> list[str]:
        """Notes that no commit will have: a .gitignore in the folder says so, or they are in a repository of its own
        inside the clone, which git names with a slash and does not look into.
        """
        entries = self._git.fields("status", *_STATUS, "--ignored=matching")
        paths = [entry[3:] for entry in entries if entry.startswith("!!") or entry.endswith("/")]
        return [path for path in paths if self._folder.is_note(path.rstrip("/"))]

    # -- for a commit -------------------------------------------------------------------------------------

    def stage(self, head: str | None) -> list[Change]:
        """Put everything that differs into the index, which is that of the commit `head`; what was put there.

        Git does it in one step where the folder has nothing but notes. Otherwise that is taken back, and the notes
        are named one by one.
        """
        if self._may_add_all:
            try:
                staged = self._add_all()
            except GitFailed:
                staged = None  # a file that went while git looked, as editors have them: nothing was staged
            else:
                self._may_add_all = staged is not None
            if staged is not None:
                return staged
            self._git.run("read-tree", *(["-i", "-m", head] if head else ["--empty"]))
        return self._put(self.changes())

    def stage_one(self, path: str) -> list[Change]:
        """The same for one note that was just changed."""
        return self._put(self._named(path))

    def _add_all(self) -> list[Change] | None:
        """What git put into the index; `None` if not all of it belongs there."""
        output = os.fsdecode(self._git.run("add", "--all", "--verbose", "--ignore-errors", good=(0, 1)))
        staged = []
        for line in output.split("\n")[:-1]:
            verb, _, path = line.partition(" '")
            if verb not in _CODES or not path.endswith("'") or not self._is_note(path[:-1]):
                return None
            staged.append(Change(_CODES[verb], path[:-1]))
        return staged

    def _put(self, changes: list[Change]) -> list[Change]:
        if changes:
            paths = os.fsencode("".join(f"{change.path}\0" for change in changes))
            self._git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", data=paths)
        return changes

    def _named(self, path: str) -> list[Change]:
        """One note. Where a .gitignore may have a say about it, git is asked."""
        if not self._folder.is_note(path):
            return []
        if self._may_be_ignored(path):
            return [change for change in self.changes() if change.path == path]
        return [Change("M ", path)]

    def _may_be_ignored(self, path: str) -> bool:
        above = path.split("/")[:-1]
        folders = [os.path.join(self._folder.root, *above[:depth]) for depth in range(len(above) + 1)]
        return any(os.path.lexists(os.path.join(folder, _IGNORE)) for folder in folders)
