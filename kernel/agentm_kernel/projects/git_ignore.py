"""`.harness/.gitignore`: so that `git clean -fd` does not delete a plan, and `git add .` does not publish one."""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError
from agentm_kernel.projects import HARNESS_DIR
from agentm_kernel.projects.git_files import find_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.projects.git_files import Repository

_NEEDLE = b".harness/"
_SHORTENED = b"\0\0\0\4"  # the version of an index that shortens paths
_ENTRY = 62  # bytes before the path: status, hash, flags
_HAS_MORE_FLAGS = 0x40


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
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with open(descriptor, "wb") as file:
            file.write(b"*\n")
    except (OSError, AgentmError):
        return


def _tracks_harness(repository: Repository) -> bool:
    """Whether git's index names such a folder anywhere."""
    names = [name for name in os.listdir(repository.git_dir) if name == "index" or name.startswith("sharedindex.")]
    for name in names:
        with open(os.path.join(repository.git_dir, name), "rb") as file:
            data = file.read()
        if _NEEDLE in data or (data[4:8] == _SHORTENED and _NEEDLE in b"\n".join(_whole_paths(data))):
            return True
    return False


def _whole_paths(data: bytes) -> Iterator[bytes]:
    """The paths of an index of version 4, each of which is stored as what differs from the one before it.

    In a repository of the newer hashes the entries are longer; what is then misread is taken for tracked.
    """
    place, path = 12, b""
    try:
        for _ in range(int.from_bytes(data[8:12], "big")):
            place += _ENTRY + (2 if data[place + _ENTRY - 2] & _HAS_MORE_FLAGS else 0)
            dropped = data[place] & 0x7F
            while data[place] & 0x80:
                place += 1
                dropped = ((dropped + 1) << 7) | (data[place] & 0x7F)
            end = data.index(b"\0", place + 1)
            path, place = path[: len(path) - dropped] + data[place + 1 : end], end + 1
            yield path
    except (IndexError, ValueError):
        yield _NEEDLE
