"""`.harness/.gitignore`: so that `git clean -fd` does not delete a plan, and `git add .` does not publish one."""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError
from agentm_kernel.projects.git_files import find_repository
from agentm_kernel.projects.root import HARNESS_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.git_files import Repository


def hide_from_git(root: str) -> None:
    """Make the file, unless the repository tracks the folder or this is a linked worktree. Never fails.

    `git worktree remove` deletes what is ignored without a word; what is only untracked it refuses to delete.
    """
    folder = os.path.join(root, HARNESS_DIR)
    path = os.path.join(folder, ".gitignore")
    if os.path.lexists(path) or not os.path.isdir(folder):
        return
    try:
        repository = find_repository(root)
        if repository is None or repository.common_dir != repository.git_dir or _tracks_harness(repository):
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o644)
        with open(descriptor, "wb") as file:
            file.write(b"*\n")
    except (OSError, AgentmError):
        return


def _tracks_harness(repository: Repository) -> bool:
    """Whether git's index names such a folder anywhere. It may shorten paths, so only the end of the name counts."""
    names = [name for name in os.listdir(repository.git_dir) if name == "index" or name.startswith("sharedindex.")]
    for name in names:
        with open(os.path.join(repository.git_dir, name), "rb") as file:
            if b"harness/" in file.read():
                return True
    return False
