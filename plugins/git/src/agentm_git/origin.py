"""Talking with the origin: fetch, push, and what its answers mean."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_git.credentials import access
from agentm_git.runner import GitFailed
from agentm_kernel.errors import StorageError, StorageSelectionError, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_git.credentials import Access
    from agentm_git.private_dir import PrivateDir
    from agentm_git.runner import Git
    from agentm_git.settings import Settings

_NO_SUCH_BRANCH = "couldn't find remote ref"
# What a server says when somebody else's push was faster, by transport and version.
_RACES = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "failed to update ref",
    "failed to lock",
    "cannot lock ref",
    "incorrect old value",
    "reference already exists",
    "remote ref updated since checkout",
)
_REFUSED = ("authentication failed", "could not read username", "403", "401", "permission denied", "access denied")


_ACCEPTED = "accepted"


class Deadline:
    """The time that a whole step may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._end - time.monotonic()

    @property
    def is_over(self) -> bool:
        return self.left <= 0


class Origin:
    """The remote of one clone. Whoever uses it holds the network lock."""

    def __init__(
        self,
        git: Git,
        private: PrivateDir,
        settings: Settings,
        credentials: Mapping[str, str],
        environ: Mapping[str, str],
    ) -> None:
        self._git = git
        self._private = private
        self._settings = settings
        self._credentials = credentials
        self._environ = environ

    def known(self, branch: str) -> str | None:
        """The commit of a branch of the origin, as of the last time that anybody asked."""
        return self._private.ref(tracking(branch))

    def fetch(self, branch: str, deadline: Deadline) -> str | None:
        """Bring in what a branch of the origin has; its commit, `None` if it has no such branch."""
        refspec = f"+refs/heads/{branch}:{tracking(branch)}"
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", "--atomic")
        try:
            self._run("fetch", *options, self._settings.remote, refspec, deadline=deadline)
        except GitFailed as error:
            if _NO_SUCH_BRANCH in error.said:
                return None
            raise
        return self.known(branch)

    def push(self, commit: str, branch: str, deadline: Deadline) -> bool:
        """Send a commit; `False` if the origin has moved on. Never forced."""
        target = f"{commit}:refs/heads/{branch}"
        try:
            output = self._run("push", "--porcelain", "--no-verify", self._settings.remote, target, deadline=deadline)
        except GitFailed as error:
            if any(sign in error.said.lower() for sign in _RACES):
                return False
            raise
        said = _answer(output.decode(errors="replace"))
        if said is None:
            raise StorageError("git pushed, and the origin said nothing about it", hint="try again")
        if said == _ACCEPTED:
            self._private.set_ref(tracking(branch), commit)
            return True
        if said.startswith("[rejected]") or any(sign in said.lower() for sign in _RACES):
            return False
        raise StorageError(
            f"the origin refuses the push to {branch}: {one_line(said)}",
            hint="it may protect the branch: try branch_policy per-conversation with a pull request",
        )

    def _run(self, *arguments: str, deadline: Deadline) -> bytes:
        if not self._settings.remote:
            raise StorageSelectionError(
                "the clone has no origin to talk with", hint="run `agentm config set plugins.git.remote URL`"
            )
        way = self._access()
        good = (0, 1) if arguments[0] == "push" else (0,)
        try:
            return self._git.run(
                *arguments, good=good, settings=way.settings, secrets=way.secrets, limit=deadline.left
            )
        except GitFailed as error:
            if any(sign in error.said.lower() for sign in _REFUSED) and not error.hint:
                error.hint = "check the token or the key, and its rights on the repository"
            raise

    def _access(self) -> Access:
        return access(self._settings, self._credentials, self._environ, self._private.root)


def _answer(porcelain: str) -> str | None:
    """What the origin said about our one ref: `accepted`, or why not."""
    for line in porcelain.splitlines():
        flag, tab, rest = line[:1], line[1:2], line[2:]
        if tab == "\t":
            return rest.rpartition("\t")[2] if flag == "!" else _ACCEPTED
    return None


def tracking(branch: str) -> str:
    return f"refs/remotes/origin/{branch}"
