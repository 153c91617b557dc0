"""Commits, made by git from trees that are in its store already. No index and no folder is involved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_git.runner import Git

_FIELDS = {
    "GIT_AUTHOR_NAME": "%an",
    "GIT_AUTHOR_EMAIL": "%ae",
    "GIT_AUTHOR_DATE": "%ad",
    "GIT_COMMITTER_NAME": "%cn",
    "GIT_COMMITTER_EMAIL": "%ce",
    "GIT_COMMITTER_DATE": "%cd",
}
_FORMAT = f"--format={'%x00'.join((*_FIELDS.values(), '%B'))}"


class Commits:
    """The commits of one repository."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def make(self, tree: str, parents: Sequence[str], signed: Mapping[str, str], message: str) -> str:
        """A new commit by whom the variables `signed` tell; its id."""
        above = [word for parent in parents for word in ("-p", parent)]
        words = message.encode(errors="replace")
        return self._git.text("commit-tree", tree, *above, "-F", "-", data=words, extra=signed)

    def again(self, commit: str, tree: str, parent: str) -> str:
        """The same commit, by the same people at the same time, with another tree and parent."""
        *people, message = self._git.text("log", "-1", "--date=raw", _FORMAT, commit).split("\0", len(_FIELDS))
        signed = dict(zip(_FIELDS, people, strict=True))
        return self.make(tree, (parent,), signed, message.rstrip("\n") + "\n")
