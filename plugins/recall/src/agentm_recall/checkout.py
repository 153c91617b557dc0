"""Asking a checkout what it has and what it had: files, names in its text, commits. By the git command, in the
background only.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PATIENCE = 20.0
"""Seconds for one question. Nobody waits, but a history of a million commits would take for ever."""
_AT_ONCE = 200
"""Words in one question."""


class NoCheckout(Exception):
    """The folder is none, or git cannot be asked."""


class Checkout:
    """The working tree at `root`, and its history."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: dict[str, list[str]] = {}
        there = set(self._lines("ls-files", "-z", "--cached", "--others", "--exclude-standard", zero=True))
        self._now = there - set(self._lines("ls-files", "-z", "--deleted", zero=True))
        for path in self._now:
            self._names.setdefault(path.rpartition("/")[2], []).append(path)

    # -- files ------------------------------------------------------------------------------------------------

    def has_file(self, name: str) -> bool:
        """Whether there is such a file: a path from the root, or the end of one."""
        if os.path.exists(os.path.join(self._root, name)):
            return True
        return any(_is_named(path, name) for path in self._names.get(name.rpartition("/")[2], ()))

    def removed_files(self, since: float) -> dict[str, float]:
        """The files that were removed after `since`, each with when: by a commit, or in the working tree just now."""
        removed: dict[str, float] = {}
        when = 0.0
        log = ("log", f"--since=@{int(since)}", "--diff-filter=D", "--no-renames", "--name-only", "--format=%x01%ct")
        for line in self._lines(*log):
            if line.startswith("\x01"):
                when = float(line[1:])
            elif line:
                removed[line] = max(when, removed.get(line, 0.0))
        if self._has_commits():
            committed = self._lines("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", zero=True)
            removed |= dict.fromkeys(set(committed) - self._now, time.time())
        return {path: moment for path, moment in removed.items() if path not in self._now}

    # -- names in the text ------------------------------------------------------------------------------------

    def missing_words(self, words: Sequence[str], commit: str | None = None) -> set[str]:
        """Those of the words that no file has now, or had at the commit."""
        missing = set(words)
        for start in range(0, len(words), _AT_ONCE):
            patterns = [part for word in words[start : start + _AT_ONCE] for part in ("-e", word)]
            where = ["--untracked"] if commit is None else [commit]
            missing -= set(self._lines("grep", "-hoIwF", *patterns, *where, allowed=(0, 1)))
        return missing

    def commits_around(self, moment: float) -> list[str]:
        """The last commit up to then, and the first after it."""
        if not self._has_commits():
            return []
        before = self._lines("rev-list", "-1", f"--before=@{int(moment)}", "HEAD")
        after = self._lines("rev-list", "--reverse", f"--since=@{int(moment) + 1}", "HEAD")
        return [*before[:1], *after[:1]]

    # -- commits ----------------------------------------------------------------------------------------------

    def lost_commits(self, names: Iterable[str], seen: set[str]) -> set[str]:
        """Commits that no branch leads to any more. One that is not there at all counts only if it was `seen`."""
        if os.path.exists(os.path.join(self._git_folder(), "shallow")):
            return set()
        lost = set()
        for name in names:
            found = self._lines("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", allowed=(0, 1, 128))
            if not found:
                lost |= {name} & seen
            elif self._is_reachable(found[0]):
                seen.add(name)
            else:
                lost.add(name)
        return lost

    def _is_reachable(self, commit: str) -> bool:
        if self._lines("for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname)"):
            return True
        # A head that is on no branch counts as well.
        return self._code("merge-base", "--is-ancestor", commit, "HEAD") == 0

    # -- git --------------------------------------------------------------------------------------------------

    def _git_folder(self) -> str:
        return os.path.join(self._root, *self._lines("rev-parse", "--git-common-dir")[:1])

    def _has_commits(self) -> bool:
        return self._code("rev-parse", "--quiet", "--verify", "HEAD") == 0

    def _lines(self, *words: str, zero: bool = False, allowed: tuple[int, ...] = (0,)) -> list[str]:
        done = self._run(*words)
        if done.returncode not in allowed:
            raise NoCheckout(done.stderr.decode("utf-8", "replace").strip())
        text = done.stdout.decode("utf-8", "surrogateescape")
        return [part for part in text.split("\0" if zero else "\n") if part]

    def _code(self, *words: str) -> int:
        return self._run(*words).returncode

    def _run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", self._root, "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *words]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
        try:
            return subprocess.run(  # noqa: S603 - a list of words, and no shell
                command, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE, env=environ
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoCheckout(str(error)) from error


def _is_named(path: str, name: str) -> bool:
    return path == name or path.endswith(f"/{name}")


def removal_of(name: str, removed: dict[str, float]) -> float | None:
    """When the last file of that name was removed, `None` if none was."""
    return max((when for path, when in removed.items() if _is_named(path, name)), default=None)
