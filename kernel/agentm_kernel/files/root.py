"""The root directory of a tree: opened as the platform allows, and made where it is missing."""

from __future__ import annotations

import os

from agentm_kernel.files.tree import FdDirectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory

CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")


def open_root(path: str, *, follow_link: bool = True) -> Directory:
    """Open the directory `path` that the operator named: links in it are theirs and are followed.

    `follow_link`: whether the last name of the path may be a link too.
    """
    if CAN_WALK_BY_DESCRIPTOR:
        return FdDirectory(os.open(path, os.O_RDONLY | os.O_DIRECTORY | (0 if follow_link else os.O_NOFOLLOW)))
    from agentm_kernel.files.path_tree import PathDirectory

    return PathDirectory(path)


def make_root(path: str, mode: int) -> None:
    """Make the directory `path` and what is missing above it, each durable before the next.

    One that is there but empty may be new too, its maker dead before it was durable.
    """
    parent = os.path.dirname(path)
    try:
        if not _is_empty(path):
            return
    except FileNotFoundError:
        make_root(parent, mode)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            pass  # another writer was faster
    with open_root(parent) as directory:
        directory.sync()


def make_private_folder(path: str) -> None:
    """Make the folder `path` and what is missing above it, for this user alone, each durable before the next.

    `os.makedirs` gives its mode to the last folder only: under a umask of 0 anybody could replace the others.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_private_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise  # a file is in the way; otherwise another writer was faster
    with open_root(parent) as directory:
        directory.sync()


def _is_empty(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is None
