"""Where a walk begins: the root of a store, opened or made. Picks the kind of directory that the platform has."""

from __future__ import annotations

import os

from agentm_kernel.files.tree import CAN_WALK_BY_DESCRIPTOR, FdDirectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory


def open_root(path: str) -> Directory:
    """Open the directory `path` that the operator named: links in it are theirs and are followed."""
    if CAN_WALK_BY_DESCRIPTOR:
        return FdDirectory(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
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


def _is_empty(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is None
