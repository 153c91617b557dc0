"""Settling two histories that have diverged, by policy, without losing either side.

Trees are merged inside git's object store: no file is touched, no driver is run. Where both sides changed a note and
the lines cannot be put together, the policy says which version keeps the name; the other one becomes a note of its
own, out of the way in `_meta/conflicts/` or beside it. Nothing is forced: the origin's commits stay as they are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.applying import read_blobs
from agentm_git.folder import REGULAR, beside, kept_place, locator_of
from agentm_git.records import says_who_is_who, united
from agentm_git.settings import ABORT, LAST_WRITER_WINS, MANUAL, MERGE, SPLIT_CONFLICTS
from agentm_kernel.plugin import STAMP_KEY, StorageConflictError

if TYPE_CHECKING:
    from collections.abc import Collection

    from agentm_git.commits import Commits
    from agentm_git.runner import Git

_SIDES = _BASE, _ORIGIN, _HERE = "1", "2", "3"
_NOTHING = "0" * 40
_SETTLE = "run `agentm git sync --conflict POLICY` with one of rebase, merge, last-writer-wins, split-conflicts"


@dataclass(frozen=True)
class Version:
    """One side's entry in a tree."""

    mode: str
    identity: str

    @property
    def is_file(self) -> bool:
        return self.mode in REGULAR


@dataclass(frozen=True)
class Settled:
    """What the branch becomes, and the notes whose other version was put somewhere: (note, place)."""

    commit: str
    kept: tuple[tuple[str, str], ...]


class Merger:
    """The histories of one clone and its origin, under one policy."""

    def __init__(self, git: Git, commits: Commits, policy: str, scratch_index: str, signed: dict[str, str]) -> None:
        self._git = git
        self._commits = commits
        self._policy = policy
        self._scratch_index = scratch_index
        self._signed = signed
        self._kept: list[tuple[str, str]] = []

    def settle(self, here: str, origin: str, published: Collection[str]) -> Settled:
        """A commit that descends from `origin` and has everything of `here`.

        Commits in `published` are known elsewhere, so they are merged and not made anew.
        """
        if self._policy == ABORT:
            raise StorageConflictError(
                "the origin has moved on, and the policy 'abort' settles nothing; everything here is as it was",
                hint=_SETTLE,
            )
        replayed = self._own_commits(here, origin)
        must_merge = any(len(parents) != 1 or commit in published for commit, parents in replayed)
        is_merge = self._policy == MERGE or must_merge
        commit = self._merge(here, origin) if is_merge else self._replay(replayed, origin)
        return Settled(commit, tuple(self._kept))

    def settle_without(self, removed: Collection[str], here: str, origin: str) -> Settled:
        """A commit that descends from `origin` and has what was committed here, without the commits in `removed`."""
        own = [entry for entry in self._own_commits(here, origin) if entry[0] not in removed]
        if any(len(parents) != 1 for _, parents in own):
            raise StorageConflictError(
                "what was committed here since cannot be told apart from what the origin took out: there is a merge",
                hint="settle it with git itself, or run `agentm git sync --rewritten keep`",
            )
        return Settled(self._replay(own, origin, onto_other=True), tuple(self._kept))

    def _own_commits(self, here: str, origin: str) -> list[tuple[str, list[str]]]:
        lines = self._git.text("rev-list", "--reverse", "--topo-order", "--parents", f"{origin}..{here}").splitlines()
        return [(words[0], words[1:]) for words in (line.split() for line in lines)]

    # -- two ways to put histories together ---------------------------------------------------------------

    def _merge(self, here: str, origin: str) -> str:
        tree = self._tree(origin, here, (origin, here))
        message = f"Merge the origin's changes\n\nagentm: {origin[:12]} into {here[:12]}\n"
        return self._commits.make(tree, (here, origin), self._signed, message)

    def _replay(self, commits: list[tuple[str, list[str]]], origin: str, *, onto_other: bool = False) -> str:
        """The commits made here, one after the other, on top of the origin's.

        `onto_other`: the first one's parent is not the origin's history, so only its own change is taken over.
        """
        current, tree = origin, self._git.text("rev-parse", f"{origin}^{{tree}}")
        for commit, (parent,) in commits:
            base = current
            # A stand-in whose only history is the parent: so that is what both are compared with.
            if onto_other or current != origin:
                base = self._commits.make(tree, (parent,), self._signed, "stand-in\n")
            merged = self._tree(base, commit, (current, commit))
            if merged == tree:
                continue  # the origin has it already
            current, tree = self._commits.again(commit, merged, current), merged
        return current

    # -- one merge of two trees ---------------------------------------------------------------------------

    def _tree(self, origin: str, here: str, dated: tuple[str, str]) -> str:
        """The merged tree of two commits; `dated` are those that tell when each side's versions were written."""
        output = self._git.run(
            "merge-tree",
            "--write-tree",
            "-z",
            "--no-messages",
            "--allow-unrelated-histories",
            origin,
            here,
            good=(0, 1),
        )
        tree, *entries = os.fsdecode(output).split("\0")[:-1]
        conflicts = _conflicts(entries)
        if not conflicts:
            return tree
        changes: dict[str, Version | None] = {}
        for path, sides in conflicts.items():
            both = self._grown(sides) or self._united(path, sides)
            if both is not None:
                changes[path] = both
            else:
                changes |= self._settle_path(path, sides.get(_ORIGIN), sides.get(_HERE), dated)
        return self._changed(tree, changes)

    def _grown(self, sides: dict[str, Version]) -> Version | None:
        """Both versions one after the other, where both sides only appended: a log that two devices write."""
        if len(sides) != len(_SIDES) or not all(version.is_file for version in sides.values()):
            return None
        found = read_blobs(self._git, (version.identity for version in sides.values()))
        base, origin, here = (found[sides[side].identity] for side in _SIDES)
        if not base.endswith(b"\n") or not (origin.startswith(base) and here.startswith(base)):
            return None
        between = b"" if origin.endswith(b"\n") else b"\n"
        whole = origin + between + here[len(base) :]
        return Version(sides[_HERE].mode, self._git.text("hash-object", "-w", "--stdin", data=whole))

    def _united(self, path: str, sides: dict[str, Version]) -> Version | None:
        """Both versions as one, where the note is the kernel's own list of who is who (see `records`)."""
        if not {_ORIGIN, _HERE} <= sides.keys() or not all(sides[side].is_file for side in (_ORIGIN, _HERE)):
            return None
        found = read_blobs(self._git, (sides[side].identity for side in (_ORIGIN, _HERE)))
        whole = united(path, *(found[sides[side].identity] for side in (_ORIGIN, _HERE)))
        if whole is None:
            return None
        return Version(sides[_HERE].mode, self._git.text("hash-object", "-w", "--stdin", data=whole))

    def _settle_path(
        self, path: str, origin: Version | None, here: Version | None, dated: tuple[str, str]
    ) -> dict[str, Version | None]:
        """What a path that both sides changed becomes. A change beats a deletion: nothing is lost that way."""
        if origin is None or here is None:
            return {path: origin or here}
        if path == STAMP_KEY:  # one identity in two spellings: different ones never come this far
            return {path: origin}
        if self._policy == MANUAL:
            raise StorageConflictError(
                f"'{path}' was changed here and at the origin; both versions are as they were",
                hint=f"edit the note until it has what you want of both, then {_SETTLE}: yours stands with 'rebase'",
            )
        winner, loser = here, origin
        if self._policy == LAST_WRITER_WINS and self._is_later(path, dated, origin, here):
            winner, loser = origin, here
        place = self._place_for(path, loser)
        if place is None:
            return {path: winner}
        self._kept.append((path, place))
        return {path: winner, place: loser}

    def _is_later(self, path: str, dated: tuple[str, str], origin: Version, here: Version) -> bool:
        """Whether the origin's version was written after ours; ids decide between equal times, alike everywhere."""
        times = [
            self._git.text("log", "-1", "--no-merges", "--format=%at", commit, "--", path) or "0" for commit in dated
        ]
        return (int(times[0]), origin.identity) > (int(times[1]), here.identity)

    def _place_for(self, path: str, loser: Version) -> str | None:
        """Where the version that loses goes; `None` for what is no note: history has it."""
        if not loser.is_file or locator_of(path) is None:
            return None
        if self._policy == SPLIT_CONFLICTS and not says_who_is_who(path):
            return beside(path, loser.identity)
        return kept_place(path, loser.identity)

    def _changed(self, tree: str, changes: dict[str, Version | None]) -> str:
        git = self._git.with_index(self._scratch_index)
        git.run("read-tree", tree)
        lines = []
        for path, version in changes.items():
            mode, identity = (version.mode, version.identity) if version else ("0", _NOTHING)
            lines.append(os.fsencode(f"{mode} {identity}\t{path}\0"))
        git.run("update-index", "-z", "--index-info", data=b"".join(lines))
        changed = git.text("write-tree")
        os.unlink(self._scratch_index)
        return changed


def _conflicts(entries: list[str]) -> dict[str, dict[str, Version]]:
    """The sides of every path that could not be merged: mode, id and stage each, a tab, and the path."""
    found: dict[str, dict[str, Version]] = {}
    for entry in entries:
        meta, _, path = entry.partition("\t")
        mode, identity, stage = meta.split(" ")
        found.setdefault(path, {})[stage] = Version(mode, identity)
    return found
