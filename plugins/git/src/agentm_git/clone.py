"""One clone: commit, pull and push, each from a sound state to a sound state.

Locks are taken in one order: network (as long as the origin takes), local (moments), the store's mutex (while files
change). Writers of notes take only the last one, so nobody who writes ever waits for a network.
"""

from __future__ import annotations

import os
import random
import shlex
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from agentm_git.applying import Applier, EditedMeanwhile
from agentm_git.branches import branch_for
from agentm_git.changes import Changes
from agentm_git.commits import Commits
from agentm_git.identity import message_with, operator_of, signature
from agentm_git.merging import Merger
from agentm_git.origin import Deadline, Origin, tracking
from agentm_git.private_dir import PrivateDir
from agentm_git.public_dir import PublicDir
from agentm_git.rewritten import FOLLOW, KEEP, forget, refusal, removed_commits
from agentm_git.runner import Git
from agentm_git.stamps import check_stamps
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    LockTimeout,
    StorageConflictError,
    StorageError,
    StorageIOError,
    SyncOutcome,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentm_git.changes import Change
    from agentm_git.folder import Folder
    from agentm_git.settings import Settings
    from agentm_kernel.plugin import Author, SyncTrigger

NOTHING_KEPT: tuple[tuple[str, str], ...] = ()
_TRIES = 30
WAIT_FOR_SESSIONS = 5.0
"""Seconds within which another session that uses the clone commits what it wrote."""
_WORTH_A_TRY = 0.5
"""Seconds that another push needs at least."""
_LONGEST_PAUSE = 0.2
_WHY_ABSENT = "it is too large, or another note has that name but for upper and lower case"
_NOT_PULLED = "not pulled: there are changes that are not committed yet"


@dataclass(frozen=True)
class Integrated:
    """What bringing in the origin's commits did."""

    commit: str | None
    paths: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()


class Clone:
    """The clone that a store's folder is."""

    def __init__(
        self,
        folder: Folder,
        settings: Settings,
        environ: Mapping[str, str],
        credentials: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self.environ = environ
        self.folder = folder
        self.private = PrivateDir(folder.root)
        self.public = PublicDir(self.private, settings.branch)
        self.git = Git(self.private.path, folder.root, self.private.objects, environ)
        self.commits = Commits(self.git)
        self.origin = Origin(self.git, self.private, settings, credentials, environ)
        self.looked = Changes(self.git, folder, self.private.index)
        self._latest = ("", "")
        self.applier = Applier(self.git, folder, self.private, self.public)

    # -- locks --------------------------------------------------------------------------------------------

    @contextmanager
    def _local(self) -> Iterator[None]:
        """Alone with branch, index and folder, after finishing what a killed process left."""
        self.private.check()
        with self.private.local() as lock, self._inherited(lock.descriptor):
            is_foreign = self._begin()
            self.private.set_head(self.public.head())
            recovered = self.applier.recover()
            if is_foreign and recovered is None:
                self.applier.reset_index(self.public.head(), self._left_out())
            yield

    def _begin(self) -> bool:
        """See that what the operator left can be worked with; whether the index is theirs."""
        self.public.check_ready()
        is_foreign = self.public.adopt_index()
        if is_foreign:
            self.looked.take_over()
        return is_foreign

    def check_ready(self) -> None:
        """Raise unless a step could begin."""
        self.private.check()
        with self.private.local() as lock, self._inherited(lock.descriptor):
            self._begin()

    @contextmanager
    def _network(self, deadline: Deadline) -> Iterator[None]:
        self.private.check()
        with self.private.network(deadline.left) as lock, self._inherited(lock.descriptor):
            yield

    @contextmanager
    def _inherited(self, descriptor: int) -> Iterator[None]:
        self.git.locks.append(descriptor)
        try:
            yield
        finally:
            self.git.locks.remove(descriptor)

    def _left_out(self) -> list[str]:
        """What of the last commit is not for the folder, by its name or its kind, and is not there.

        What the operator checked out with git is there, and git goes on looking at it.
        """
        if self.public.head() is None:
            return []
        entries = self.git.fields("ls-tree", "-r", "-z", "--full-tree", "HEAD")
        split = (entry.partition("\t") for entry in entries)
        unwanted = [path for meta, _, path in split if not self.folder.is_wanted(path, meta.partition(" ")[0])]
        return [path for path in unwanted if not os.path.lexists(os.path.join(self.folder.root, path))]

    def bring_back(self) -> None:
        """Write what the last commit has and the folder has not, as after `git clone --no-checkout`."""
        with self._local():
            head = self.public.head()
            if head is not None:
                left_out = self.applier.bring_back(head)
                self.applier.reset_index(head, {*left_out, *self._left_out()})

    # -- commit -------------------------------------------------------------------------------------------

    def changes(self) -> list[Change]:
        """The notes that differ from the last commit."""
        with self._local():
            return self.looked.changes()

    def read_history(self, *arguments: str) -> str:
        """What git answers about the branch as it is now."""
        with self._local():
            return self.git.text(*arguments)

    def commit(self, message: str, authors: Sequence[Author], only: str | None = None) -> SyncOutcome:
        """Record the notes as they are; with `only` that one alone, which is cheaper."""
        for attempt in range(_TRIES):
            with self._local():
                try:
                    return self._commit(message, authors, only)
                except ConcurrentModificationError:
                    pass  # the operator committed with git in this very moment
            time.sleep(random.uniform(0, 0.01 * attempt))
        raise StorageIOError(f"another program keeps moving the branch of {self.folder.root}", hint="try again")

    def _commit(self, message: str, authors: Sequence[Author], only: str | None) -> SyncOutcome:
        head = self.public.head()
        changes = self.looked.stage_one(only) if only else self.looked.stage(head)
        if not changes:
            return SyncOutcome(False, ref=head)
        tree = self.git.text("write-tree")
        if head is not None and any(change.is_staged for change in changes) and tree == self._tree_of(head):
            self.public.publish_index()
            return SyncOutcome(False, ref=head)
        words = message_with(message, authors)
        commit = self.commits.make(tree, (head,) if head else (), self._signed(authors), words)
        self.public.move(self.public.branch_ref, commit, head, f"commit: {words.partition(chr(10))[0]}")
        self._latest = (commit, tree)
        self.private.set_head(commit)
        self.public.publish_index()
        return SyncOutcome(True, ref=commit, note=f"{len(changes)} {'file' if len(changes) == 1 else 'files'}")

    def _tree_of(self, commit: str) -> str:
        if self._latest[0] != commit:
            self._latest = (commit, self.git.text("rev-parse", f"{commit}^{{tree}}"))
        return self._latest[1]

    # -- pull ---------------------------------------------------------------------------------------------

    def pull(self, policy: str | None = None, rewritten: str | None = None) -> SyncOutcome:
        """Bring in what the origin has, unless there are changes that are not committed.

        `rewritten` is the operator's answer where the origin took out commits that are here (see `rewritten`).
        """
        deadline = Deadline(self.settings.deadline)
        with self._network(deadline):
            upstream = self.origin.fetch(self.settings.branch, deadline)
            with self._local():
                self._publish_tracking(self.settings.branch, upstream)
                if self.looked.changes():
                    why = _NOT_PULLED
                    if unread := self.looked.unread():
                        why = f"not pulled: this user cannot read {unread[0]}, so it cannot be committed"
                    return SyncOutcome(False, ref=self.public.head(), note=why)
                try:
                    done = self._integrate(self.settings.branch, upstream, policy, rewritten)
                except EditedMeanwhile as error:
                    return SyncOutcome(False, ref=self.public.head(), note=f"not pulled: {error.message}")
            self._note_pulled()
        return SyncOutcome(bool(done.paths or done.kept or done.absent), ref=done.commit, note=_told(done))

    def pulled_at(self) -> float | None:
        """When the origin was last asked, successfully."""
        try:
            return os.stat(self.private.pulled).st_mtime
        except FileNotFoundError:
            return None

    def _note_pulled(self) -> None:
        with open(self.private.pulled, "w", encoding="ascii"):
            pass
        os.utime(self.private.pulled)

    def _integrate(
        self, branch: str, upstream: str | None, policy: str | None, rewritten: str | None = None
    ) -> Integrated:
        """Let the branch have everything that `upstream` has, and its own commits."""
        head = self.public.head()
        if upstream is None or upstream == head:
            return Integrated(head)
        removed = removed_commits(self.git, self.private, branch, head, upstream) if head else set()
        if removed and rewritten == FOLLOW:
            return self._follow(branch, upstream, policy, removed)
        if removed and rewritten != KEEP:
            check_stamps(self.git, self.folder, head, upstream)  # another store is the larger trouble
            raise refusal(branch, len(removed))
        forget(self.private, branch)
        base = self._common(head, upstream)
        if base == upstream:
            return Integrated(head)
        check_stamps(self.git, self.folder, head, upstream)
        target, kept = upstream, NOTHING_KEPT
        if head is not None and base != head:
            settled = self._merger(policy).settle(head, upstream, self._published())
            target, kept = settled.commit, settled.kept
        return self._applied(head, target, f"agentm: bring in {upstream[:12]}", kept)

    def _follow(self, branch: str, upstream: str, policy: str | None, removed: set[str]) -> Integrated:
        """Let go of what the origin took out; what was written here since comes on top of its history."""
        head = self.public.head()
        check_stamps(self.git, self.folder, head, upstream)
        settled = self._merger(policy).settle_without(removed, head or upstream, upstream)
        done = self._applied(head, settled.commit, f"agentm: follow {upstream[:12]}", settled.kept)
        forget(self.private, branch)
        return done

    def _applied(self, head: str | None, target: str, why: str, kept: tuple[tuple[str, str], ...]) -> Integrated:
        paths = self.applier.apply(head, target, why)
        absent = set(self.looked.absent()).intersection(paths)
        return Integrated(target, tuple(path for path in paths if path not in absent), kept, tuple(sorted(absent)))

    def _merger(self, policy: str | None) -> Merger:
        index = os.path.join(self.private.path, "merge-index")
        return Merger(self.git, self.commits, policy or self.settings.conflict, index, self._signed(()))

    def _signed(self, authors: Sequence[Author]) -> dict[str, str]:
        return signature(authors, self.settings, self.operator)

    @cached_property
    def operator(self) -> Mapping[str, str]:
        """`name` and `email` of whoever works here, as far as git has been told them."""
        return operator_of(self.environ, self.folder.root)

    def _common(self, head: str | None, upstream: str) -> str | None:
        return self.git.text("merge-base", head, upstream, good=(0, 1)) or None if head else None

    def _published(self) -> set[str]:
        """Commits that branches of the origin hold beside the main one: they are not made anew."""
        if self.settings.branch_policy == "main":
            return set()
        refs = self.git.text("for-each-ref", "--format=%(refname)", "refs/remotes/origin").splitlines()
        others = [ref for ref in refs if ref != tracking(self.settings.branch)]
        main = self.private.ref(tracking(self.settings.branch))
        if not others:
            return set()
        without = [f"^{main}"] if main else []
        return set(self.git.text("rev-list", *others, *without).split())

    def _publish_tracking(self, branch: str, commit: str | None) -> None:
        """Let the operator's git know what the origin has."""
        name = tracking(branch)
        now = self.public.ref(name)
        if commit is not None and now != commit:
            try:
                self.public.move(name, commit, now, "agentm: fetch")
            except (ConcurrentModificationError, LockTimeout):
                pass  # the operator's git is at it; ours does not go by what is published there

    # -- push ---------------------------------------------------------------------------------------------

    def push(self, trigger: SyncTrigger, policy: str | None = None) -> SyncOutcome:
        """Send what was committed. Where the origin has moved on, bring that in and try again."""
        deadline = Deadline(self.settings.deadline)
        notes: list[str] = []
        why: str | None = None
        with self._network(deadline):
            for attempt in range(1000):
                head = self.public.head()
                if head is None:
                    return SyncOutcome(False, note="nothing was committed yet")
                branch = branch_for(self.settings, trigger, head)
                if self._has_nothing_new(head, branch):
                    return SyncOutcome(False, ref=head)
                self._check_excluded(head)
                self._check_rewritten(head, branch)
                why = self.origin.push(head, branch, deadline)
                if why is None:
                    with self._local():
                        self._publish_tracking(branch, head)
                    return self._pushed(head, branch, trigger, notes)
                pause = random.uniform(0, min(0.05 * attempt, _LONGEST_PAUSE))
                if deadline.left < pause + _WORTH_A_TRY:
                    break
                time.sleep(pause)  # before the look at the origin: what was seen there is soon old
                notes += self._catch_up(branch, policy, deadline)
        raise StorageIOError(
            f"the origin did not take the push for {self.settings.deadline:.0f} s: {why}",
            hint="everything is committed here: try again; if a lock file is named and no git is running, remove it",
        )

    def _catch_up(self, branch: str, policy: str | None, deadline: Deadline) -> list[str]:
        """Bring in what the origin has. An edit in the way may be of a session that is about to commit."""
        upstream = self.origin.fetch(branch, deadline)
        patience = Deadline(min(WAIT_FOR_SESSIONS, deadline.left))
        while True:
            with self._local():
                self._publish_tracking(branch, upstream)
                try:
                    done = self._integrate(branch, upstream, policy)
                    break
                except EditedMeanwhile as error:
                    if patience.left <= 0:
                        raise StorageConflictError(error.message, hint=error.hint) from error
            time.sleep(random.uniform(0.01, 0.05))
        self._note_pulled()
        return [note] if (note := _told(done)) else []

    def _has_nothing_new(self, head: str, branch: str) -> bool:
        known = self.origin.known(branch)
        if known == head:
            return True
        main = self.origin.known(self.settings.branch)
        if branch == self.settings.branch or main is None:
            return False
        return self._common(head, main) == head

    def _check_excluded(self, head: str) -> None:
        """Raise if a commit that is about to be pushed has a path that must not leave this device."""
        known = self.origin.known(self.settings.branch)
        span = f"{known}..{head}" if known else head
        paths = self.git.fields(
            "log", "-z", "--format=", "--name-only", "--no-renames", "--diff-filter=AM", "-m", span
        )
        excluded = self.folder.excluded(dict.fromkeys(path for path in paths if path))
        if excluded:
            raise StorageError(
                f"not pushed: a commit made with git has {excluded[0]}, which the policy excludes",
                hint=f"take it out of the commits: `git -C {shlex.quote(self.folder.root)} rebase -i`, for example",
            )

    def _check_rewritten(self, head: str, branch: str) -> None:
        """Raise while the operator has not said what becomes of commits that the origin took out."""
        known = self.origin.known(branch)
        removed = removed_commits(self.git, self.private, branch, head, known) if known else set()
        if removed:
            raise refusal(branch, len(removed))

    def _pushed(self, head: str, branch: str, trigger: SyncTrigger, notes: list[str]) -> SyncOutcome:
        from agentm_git.requests import request

        url, said = request(self, branch, trigger)
        return SyncOutcome(True, ref=head, url=url, note="; ".join([*notes, *([said] if said else [])]) or None)


def _told(done: Integrated) -> str | None:
    parts = []
    if done.paths:
        parts.append(f"{len(done.paths)} {'file' if len(done.paths) == 1 else 'files'} changed")
    parts += [f"both sides changed {path}, the other version is {place}" for path, place in done.kept]
    parts += [f"{path} cannot be in this folder: {_WHY_ABSENT}" for path in done.absent]
    return "; ".join(parts) or None
