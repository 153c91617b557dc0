"""Bringing the folder from one commit to another: file by file, each on the condition that nobody edited it.

Git does not touch the folder. The differences of the two trees are written through the write floor, under the store's
mutex, after a look at all of them: one edited note, and nothing is changed. What is about to happen is written down
first, so a process that is killed in between leaves every file old or new, and the next one finishes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.folder import Folder, blob_id
from agentm_kernel.plugin import STAMP_KEY, AgentmError, LocatorConflictError, atomic_write

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from agentm_git.private_dir import PrivateDir
    from agentm_git.public_dir import PublicDir
    from agentm_git.runner import Git

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_NOTHING = "0" * 40
_AT_ONCE = 256


class EditedMeanwhile(AgentmError):
    """Notes have changes that are in no commit, and the origin has changed them too. Nothing was touched."""

    def __init__(self, paths: list[str]) -> None:
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        super().__init__(
            f"the origin changed {', '.join(paths[:3])}{more}, and so did an edit here that is not committed yet",
            hint="run `agentm git sync`: it commits first",
        )
        self.paths = paths


@dataclass(frozen=True)
class Difference:
    """One path that two trees do not have in common."""

    path: str
    old_mode: str
    mode: str
    old: str | None
    new: str | None


class Applier:
    """Moves folder, branch and index of one clone together."""

    def __init__(self, git: Git, folder: Folder, private: PrivateDir, public: PublicDir) -> None:
        self._git = git
        self._folder = folder
        self._private = private
        self._public = public

    def apply(self, old: str | None, new: str, why: str) -> list[str]:
        """Bring everything from `old` to `new`; the paths that changed. `EditedMeanwhile`, and nothing happened."""
        differences = self.differences(old, new)
        with self._folder.exclusively():
            self._check_unedited(differences)
            atomic_write(self._private.journal, f"{old or _NOTHING} {new}\n")
            left_out = self._write_all(differences, is_recovering=False)
        self._public.move(self._public.branch_ref, new, old, why)
        self._finish(new, left_out)
        return [difference.path for difference in differences]

    def recover(self) -> str | None:
        """Finish what a killed process began; a line about it, `None` if there was nothing."""
        try:
            with open(self._private.journal, encoding="ascii") as file:
                first, new = file.read().split()
        except FileNotFoundError:
            return None
        except ValueError:  # cannot be: it is written atomically
            os.unlink(self._private.journal)
            return None
        old = None if first == _NOTHING else first
        now = self._public.head()
        if now not in (old, new):  # the operator moved the branch with git: what is in the folder is theirs to commit
            os.unlink(self._private.journal)
            return f"the branch was moved while {new[:12]} was being brought in"
        differences = self.differences(old, new)
        with self._folder.exclusively():
            left_out = self._write_all(differences, is_recovering=True)
        if now == old:
            self._public.move(self._public.branch_ref, new, old, "agentm: finished what was interrupted")
        self._finish(new, left_out)
        return f"finished bringing in {new[:12]}, which was interrupted"

    def bring_back(self, commit: str) -> list[str]:
        """Write what the commit has and the folder has not; the paths that cannot be in the folder."""
        folder = self._folder
        missing = [
            change
            for change in self.differences(None, commit)
            if folder.is_wanted(change.path, change.mode) and not folder.has(change.path)
        ]
        missing.sort(key=lambda change: change.path == STAMP_KEY)  # where it is, what is missing was deleted
        with folder.exclusively():
            return self._write_all(missing, is_recovering=True)

    def differences(self, old: str | None, new: str) -> list[Difference]:
        fields = self._git.fields(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old or EMPTY_TREE, new
        )
        return [_difference(meta, path) for meta, path in zip(fields[::2], fields[1::2], strict=True)]

    # -- the folder ---------------------------------------------------------------------------------------

    def _check_unedited(self, differences: Iterable[Difference]) -> None:
        edited = []
        for change in differences:
            if self._was_or_will_be_here(change):
                data = self._folder.content(change.path)
                if not self._is_unedited(change, None if data is None else blob_id(data)):
                    edited.append(change.path)
        if edited:
            raise EditedMeanwhile(edited)

    def _was_or_will_be_here(self, change: Difference) -> bool:
        folder = self._folder
        return folder.is_wanted(change.path, change.mode) or folder.is_wanted(change.path, change.old_mode)

    def _is_unedited(self, change: Difference, now: str | None) -> bool:
        """Whether the folder has what one of the two commits has at the path; `now` is what it has."""
        before = change.old if self._folder.is_wanted(change.path, change.old_mode) else None
        return now in (before, change.new) or (now is None and self._is_left_out(change.path))

    def _is_left_out(self, path: str) -> bool:
        """Whether the index knows that the old commit's file never came into the folder."""
        return self._git.run("ls-files", "-t", "-z", "--", path).startswith(b"S ")

    def _write_all(self, differences: list[Difference], *, is_recovering: bool) -> list[str]:
        """Make the folder what the new commit has; the paths of that commit which stay out of the folder."""
        left_out = []
        gone = [change for change in differences if not self._folder.is_wanted(change.path, change.mode)]
        for change in gone:
            if change.new is not None:
                left_out.append(change.path)
            if self._folder.is_wanted(change.path, change.old_mode):
                data = self._folder.content(change.path)
                if data is not None and blob_id(data) == change.old:
                    self._folder.remove(change.path, data)
        wanted = [change for change in differences if self._folder.is_wanted(change.path, change.mode)]
        for change, data in self._contents(wanted):
            if data is None or not self._write(change, data, is_recovering):
                left_out.append(change.path)
        return left_out

    def _write(self, change: Difference, data: bytes, is_recovering: bool) -> bool:
        """Whether the note is in the folder now. A name that clashes with another one in case cannot be."""
        seen = self._folder.content(change.path)
        now = None if seen is None else blob_id(seen)
        if now == change.new:
            return True
        if not self._is_unedited(change, now):
            if is_recovering:  # edited after the crash: that edit stays, and what it did not know is kept beside it
                self._folder.put_aside(change.path, data)
                return True
            raise EditedMeanwhile([change.path])
        try:
            self._folder.replace(change.path, data, seen)
        except LocatorConflictError:
            return False
        return True

    def _contents(self, wanted: list[Difference]) -> Iterator[tuple[Difference, bytes | None]]:
        """Each change with its new content, some at a time; `None` for what is too large for a note."""
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            identities = [change.new for change in some if change.new is not None]
            found = read_blobs(self._git, identities)
            for change in some:
                data = found[change.new] if change.new else b""
                yield change, data if len(data) <= self._folder.size_limit else None

    # -- the rest -----------------------------------------------------------------------------------------

    def _finish(self, new: str, left_out: list[str]) -> None:
        self._private.set_head(new)
        self.reset_index(new, left_out)
        os.unlink(self._private.journal)

    def _flag(self, flag: str, paths: list[str]) -> None:
        """Let git know that these are not missed in the folder."""
        if paths:
            self._git.run("update-index", "-z", flag, "--stdin", data=os.fsencode("".join(f"{p}\0" for p in paths)))

    def reset_index(self, commit: str | None, left_out: Collection[str] = ()) -> None:
        """Let the index be what the commit has; what is known of unchanged files is kept."""
        self._git.run("read-tree", *(["-i", "-m", commit] if commit else ["--empty"]))
        self._flag("--skip-worktree", [path for path in left_out if not _is_ignore_file(path)])
        # Not the same flag: git would go by the index's version of these, and others could silence notes of ours.
        self._flag("--assume-unchanged", [path for path in left_out if _is_ignore_file(path)])
        self._git.run("update-index", "-q", "--refresh", good=(0, 1))
        self._public.publish_index()


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitignore"


def read_blobs(git: Git, identities: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs, by one process."""
    wanted = list(dict.fromkeys(identities))
    output = git.run("cat-file", "--batch", data="".join(f"{identity}\n" for identity in wanted).encode())
    found, position = {}, 0
    for identity in wanted:
        end = output.index(b"\n", position)
        size = int(output[position:end].split()[2])
        found[identity] = output[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
    return found


def _difference(meta: str, path: str) -> Difference:
    old_mode, mode, old, new, _ = meta.removeprefix(":").split(" ")
    return Difference(path, old_mode, mode, None if old == _NOTHING else old, None if new == _NOTHING else new)
