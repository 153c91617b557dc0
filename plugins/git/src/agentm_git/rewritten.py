"""An origin whose history was rewritten: commits that it had, that are here, and that it no longer has.

Somebody took them out on purpose, perhaps because of a secret in one. A plain merge or push would send them back, so
nothing is sent or brought in until the operator says which history is meant. What the origin had is remembered in a
ref of our own, because its tracking ref has moved on by the time anybody can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import StorageConflictError

if TYPE_CHECKING:
    from agentm_git.private_dir import PrivateDir
    from agentm_git.runner import Git

KEEP, FOLLOW = "keep", "follow"
ANSWERS = (KEEP, FOLLOW)
"""Send the commits back; or let them go here too, with what was written since on top of the origin's history."""


def note_fetch(git: Git, private: PrivateDir, branch: str, before: str | None, now: str | None) -> None:
    """Remember what the origin had before this fetch, if some of it is gone. An earlier memory stays."""
    if before is None or now is None or before == now or private.ref(_gone(branch)) is not None:
        return
    if _count(git, before, now):
        private.set_ref(_gone(branch), before)


def removed_commits(git: Git, private: PrivateDir, branch: str, head: str, upstream: str) -> set[str]:
    """The commits of the branch here that the origin had and has no longer; none once it has them again."""
    tip = private.ref(_gone(branch))
    if tip is None:
        return set()
    removed = set(git.text("rev-list", tip, f"^{upstream}").split())
    removed &= set(git.text("rev-list", head, f"^{upstream}").split())
    if not removed:
        forget(private, branch)
    return removed


def is_pending(private: PrivateDir, branch: str) -> bool:
    """Whether the operator has yet to say which history is meant."""
    return private.ref(_gone(branch)) is not None


def forget(private: PrivateDir, branch: str) -> None:
    private.remove_ref(_gone(branch))


def refusal(branch: str, number: int) -> StorageConflictError:
    commits = "1 commit is" if number == 1 else f"{number} commits are"
    return StorageConflictError(
        f"the history of {branch} was rewritten at the origin: {commits} no longer there, and still here",
        hint="run `agentm git sync --rewritten follow` to let them go here too, or `--rewritten keep` to send them "
        "back; until then nothing is sent and nothing is lost",
    )


def _gone(branch: str) -> str:
    return f"refs/agentm/had/{branch}"


def _count(git: Git, before: str, now: str) -> int:
    return int(git.text("rev-list", "--count", before, f"^{now}"))
