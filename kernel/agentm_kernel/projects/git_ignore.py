"""`.harness/.gitignore`: so that `git clean -fd` does not delete a plan, and `git add .` does not publish one."""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError
from agentm_kernel.files.atomic import publish_new, replace_file
from agentm_kernel.files.tree import open_root
from agentm_kernel.projects import HARNESS_DIR, harness_path
from agentm_kernel.projects.git_files import ask_git, find_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.git_files import Repository

_NAME = ".gitignore"
_SHORTENED = b"\0\0\0\4"  # the version of an index that shortens paths


def hide_from_git(root: str) -> None:
    """Make the file, unless the repository tracks the folder or this is a linked worktree. Never fails.

    `git worktree remove` deletes what is ignored without a word; what is only untracked it refuses to delete.
    """
    try:
        with open_root(harness_path(root), follow_link=False) as folder:
            repository = None if folder.has(_NAME) else find_repository(root)
            is_worktree = repository is not None and repository.common_dir != repository.git_dir
            if repository is None or is_worktree or _tracks_harness(repository):
                return
            replace_file(folder, _NAME, b"*\n", None, publish_new)
    except (OSError, AgentmError):
        return


def _tracks_harness(repository: Repository) -> bool:
    """Whether git's index names such a folder anywhere; git is asked where the index does not hold whole paths."""
    names = [name for name in os.listdir(repository.git_dir) if name == "index" or name.startswith("sharedindex.")]
    for name in names:
        with open(os.path.join(repository.git_dir, name), "rb") as file:
            data = file.read()
        if b".harness/" in data:
            return True
        if data[4:8] == _SHORTENED:
            return ask_git(repository, "ls-files", "--", f":(glob)**/{HARNESS_DIR}/**") != ""
    return False
