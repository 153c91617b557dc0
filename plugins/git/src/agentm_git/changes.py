"""Which notes of the folder differ from the last commit."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.applying import read_blobs
from agentm_git.folder import is_unspelled_note
from agentm_git.runner import GitFailed
from agentm_kernel.plugin import StorageConflictError

if TYPE_CHECKING:
    from agentm_git.folder import Folder
    from agentm_git.runner import Git

_STATUS = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
_IGNORE = ".gitignore"
_UNMERGED = "M "
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

    def __init__(self, git: Git, folder: Folder, index: str) -> None:
        self._git = git
        self._folder = folder
        self._index = index
        self._may_add_all = True

    def changes(self) -> list[Change]:
        """The notes that differ. Other files in the folder are the operator's, and git's."""
        self._take_up()
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
        """Notes that no commit will have: a .gitignore in the folder says so, or no key can spell the name, or they
        are in a repository of its own inside the clone, which git names with a slash and does not look into.
        """
        entries = self._git.fields("status", *_STATUS, "--ignored=matching")
        paths = [entry[3:] for entry in entries if entry.startswith("!!") or entry.endswith("/")]
        found = [path for path in paths if self._folder.is_note(path.rstrip("/"))]
        unspelled = [path for path in (entry[3:] for entry in entries) if is_unspelled_note(path)]
        return [*found, *(path for path in unspelled if os.path.lexists(os.path.join(self._folder.root, path)))]

    def unread(self) -> list[str]:
        """Notes, and folders with a slash, that this user may not read: git passes over them without a word."""
        root, found = self._folder.root, list[str]()

        def cannot_list(error: OSError) -> None:
            if isinstance(error, PermissionError):
                found.append(f"{os.path.relpath(error.filename, root)}/")

        for folder, folders, files in os.walk(root, onerror=cannot_list):
            if ".git" in folders:
                folders.remove(".git")
            paths = (os.path.join(folder, name) for name in files)
            found += (os.path.relpath(path, root) for path in paths if not os.access(path, os.R_OK))
        return sorted(path for path in found if self._is_note(path.rstrip("/")))

    def absent(self) -> list[str]:
        """Notes of the last commit that cannot be in the folder: too large, or spelled like another one there."""
        return [path for path in self._passed_over() if not self._folder.has(path)]

    def _passed_over(self) -> dict[str, str]:
        """Notes that git was told not to look for in the folder, and what the last commit has there."""
        if not self._may_pass_over():
            return {}
        entries = (entry.partition("\t") for entry in self._git.fields("ls-files", "-t", "-s", "-z"))
        flagged = [(path, *meta.split()[1:3]) for meta, _, path in entries if meta.startswith("S ")]
        return {path: identity for path, mode, identity in flagged if self._folder.is_wanted(path, mode)}

    def _may_pass_over(self) -> bool:
        """An index of version 2 has no room for such flags, and git writes no newer one without need."""
        try:
            with open(self._index, "rb") as file:
                return file.read(8)[7:] != b"\2"
        except FileNotFoundError:
            return False

    def _take_up(self) -> None:
        """Let git look at notes that could not be in the folder and were written there since.

        What the commit has there nobody here has seen: it is kept.
        """
        written = {path: identity for path, identity in self._passed_over().items() if self._folder.has(path)}
        if not written:
            return
        theirs = read_blobs(self._git, written.values())
        for path, identity in written.items():
            if not self._folder.is_like(path, theirs[identity]):
                self._folder.put_aside(path, theirs[identity])
        paths = os.fsencode("".join(f"{path}\0" for path in written))
        self._git.run("update-index", "-z", "--no-skip-worktree", "--stdin", data=paths)

    def take_over(self) -> None:
        """Begin with an index that the operator's git left: have git look at every note of it.

        Git may have been told not to (`--assume-unchanged`, `core.ignoreStat`), so edits would be in no commit.
        """
        entries = self._git.fields("ls-files", "-v", "-z")
        unmerged = [entry[2:] for entry in entries if entry.startswith(_UNMERGED)]
        if unmerged:
            name = shlex.quote(unmerged[0])
            raise StorageConflictError(
                f"git could not put two versions of '{unmerged[0]}' in {self._folder.root} together, as happens with "
                "`git stash pop`",
                hint=f"edit the file, then run `git -C {shlex.quote(self._folder.root)} add {name}`, and try again",
            )
        unseen = [entry[2:] for entry in entries if entry[0].islower() and self._folder.is_note(entry[2:])]
        if unseen:
            paths = os.fsencode("".join(f"{path}\0" for path in unseen))
            self._git.run("update-index", "-z", "--no-assume-unchanged", "--stdin", data=paths)

    # -- for a commit -------------------------------------------------------------------------------------

    def stage(self, head: str | None) -> list[Change]:
        """Put everything that differs into the index, which is that of the commit `head`; what was put there.

        Git does it in one step where the folder has nothing but notes. Otherwise that is taken back, and the notes
        are named one by one.
        """
        self._take_up()
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
        self._take_up()
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
