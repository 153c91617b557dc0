"""The state of a clone, for people: what waits, what the origin has, what is not settled. Uses no network."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.folder import KEPT
from agentm_git.origin import tracking
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from agentm_git.backend import GitStore
    from agentm_git.clone import Clone

LEFT_OUT = "left out because of .gitignore or of their names, or in a repository of their own"
UNREAD = "unreadable for this user, and so in no commit"
ABSENT = "in the repository, and not in this folder (too large, spelled like another one, or `git sparse-checkout`)"
_MARK = " (conflict "


@dataclass(frozen=True)
class Distance:
    """How far branch and origin are apart, as of the last time that the origin was asked."""

    ahead: int
    behind: int

    def __str__(self) -> str:
        parts = []
        if self.ahead:
            parts.append(f"{self.ahead} {_commits(self.ahead)} to push")
        if self.behind:
            parts.append(f"{self.behind} {_commits(self.behind)} to bring in")
        return ", ".join(parts) or "nothing to push or to bring in"


def distance(clone: Clone) -> Distance | None:
    """`None` where the origin was never asked, or `git remote remove` and `git gc` took away what it had."""
    head = clone.public.head()
    upstream = clone.private.ref(tracking(clone.settings.branch))
    if head is None or upstream is None:
        return None
    if clone.git.text("cat-file", "--batch-check", data=f"{upstream}\n".encode()).endswith(" missing"):
        return None
    counts = clone.git.text("rev-list", "--count", "--left-right", f"{head}...{upstream}").split()
    return Distance(int(counts[0]), int(counts[1]))


def age_of_pull(clone: Clone) -> float | None:
    """Seconds since the origin was last asked, successfully."""
    pulled = clone.pulled_at()
    return None if pulled is None else max(0.0, time.time() - pulled)


def conflict_copies(store: GitStore) -> list[str]:
    """Versions that lost and that nobody has looked at: what is in `_meta/conflicts/`, and copies beside notes."""
    found = []
    for info in store.walk(Locator()):
        key = info.locator.key
        if not info.is_dir and (key.startswith(f"{KEPT}/") or _is_beside(info.locator.name)):
            found.append(key)
    return found


def _is_beside(name: str) -> bool:
    _, mark, rest = name.rpartition(_MARK)
    digest = rest.partition(")")[0]
    return bool(mark) and len(digest) == 8 and all(c in "0123456789abcdef" for c in digest)


def words_for(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _commits(number: int) -> str:
    return "commit" if number == 1 else "commits"
