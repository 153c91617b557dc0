"""Talking with the origin: fetch, push, and what its answers mean."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

from agentm_git.credentials import access
from agentm_git.rewritten import note_fetch
from agentm_git.runner import GitFailed
from agentm_kernel.plugin import StorageError, StorageIOError, StorageSelectionError, one_line

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
_REDIRECTS = "returned error: 30"
_REFUSED = (
    "authentication failed",
    "could not read username",
    "returned error: 401",
    "returned error: 403",
    "permission denied",
    "access denied",
)
_NO_SUCH_HOST = "could not resolve host"
_CHECKED_OUT = "branch is currently checked out"
_NOT_THERE = ("does not appear to be a git repository", "repository not found", "' not found")


class Deadline:
    """The time that a whole step may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._end - time.monotonic()


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
        before = self.known(branch)
        refspec = f"+refs/heads/{branch}:{tracking(branch)}"
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", "--atomic")
        try:
            self._run("fetch", *options, self._settings.remote, refspec, deadline=deadline)
        except GitFailed as error:
            if _NO_SUCH_BRANCH not in error.said:
                raise
            if self.known(branch) is None:
                return None
            where = shlex.quote(self._private.root)
            # Over HTTP, git takes an answer that broke off for an empty repository. That is not absence.
            raise StorageIOError(
                f"the origin has no branch {branch} any more, or its answer broke off",
                hint=f"try again; if it was meant to go, run `git -C {where} push origin {branch}`",
            ) from error
        now = self.known(branch)
        note_fetch(self._git, self._private, branch, before, now)
        return now

    def branches(self, deadline: Deadline) -> list[str]:
        """The names of all branches that the origin has. Nothing here is changed by asking, so no lock is needed."""
        answer = self._run("ls-remote", "--quiet", "--heads", self._settings.remote, deadline=deadline)
        return [line.partition("refs/heads/")[2] for line in answer.decode(errors="replace").splitlines()]

    def push(self, commit: str, branch: str, deadline: Deadline) -> str | None:
        """Send a commit; `None` if it was taken, or why not, if bringing in what is there may help.

        It is taken only where the origin still has what it had when it was last asked, and that is an ancestor of the
        commit: so nothing is ever forced, and commits that somebody took out meanwhile are not sent back unnoticed.
        """
        target = f"{commit}:refs/heads/{branch}"
        known = self.known(branch)
        if known is not None and self._git.text("rev-list", "--count", known, f"^{commit}") != "0":
            return "the origin has commits that are not here"
        lease = f"--force-with-lease=refs/heads/{branch}:{known or ''}"
        try:
            self._run("push", "--porcelain", "--no-verify", lease, self._settings.remote, target, deadline=deadline)
        except GitFailed as error:
            why = _refusal(error.output.decode(errors="replace"))
            said = f"{why} {error.said}".lower()
            if why.startswith("[rejected]") or any(sign in said for sign in _RACES):
                return one_line(_about_lock(error.said) or why or error.message)
            if not why:
                raise
            hint = "it may protect the branch: try branch_policy per-conversation with a pull request"
            if _CHECKED_OUT in said:
                hint = "somebody works in that repository: make a bare one of it (`git clone --bare`) and use that"
            raise StorageError(f"the origin refuses the push to {branch}: {one_line(why)}", hint=hint) from error
        self._private.set_ref(tracking(branch), commit)
        return None

    def _run(self, *arguments: str, deadline: Deadline) -> bytes:
        if not self._settings.remote:
            raise StorageSelectionError(
                "the clone has no origin to talk with", hint="run `agentm config set plugins.git.remote URL`"
            )
        way = self._access()
        try:
            return self._git.run(*arguments, settings=way.settings, secrets=way.secrets, limit=deadline.left)
        except GitFailed as error:
            if any(sign in error.said.lower() for sign in _REFUSED):
                error.hint = "check the token or the key, and its rights on the repository"
            elif any(sign in error.said.lower() for sign in _NOT_THERE):
                error.hint = "create the repository first, or check the address"
            elif _NO_SUCH_HOST in error.said.lower():  # an alias of `url.<base>.insteadOf`, perhaps
                error.hint = "check the network and the address: no alias of git's (`insteadOf`) is used"
            elif way.secrets and _REDIRECTS in error.said:
                error.hint = "the origin has moved: use its new address; a token is not carried to another one"
            raise

    def _access(self) -> Access:
        return access(self._settings, self._credentials, self._environ, self._private.root)


def _refusal(porcelain: str) -> str:
    """What the origin has against our one ref."""
    refused = (line for line in porcelain.splitlines() if line.startswith("!\t"))
    return next((line.rpartition("\t")[2] for line in refused), "")


def _about_lock(said: str) -> str | None:
    """The line that names a lock file which somebody at the origin holds, or left."""
    return next((line.strip() for line in said.splitlines() if ".lock'" in line), None)


def tracking(branch: str) -> str:
    return f"refs/remotes/origin/{branch}"
