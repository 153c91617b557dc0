"""Reading documents of a workspace: bounded, regular files only, and never outside of the workspace."""

from __future__ import annotations

import os
import stat

LIMIT = 64 * 1024
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
WORKSPACE_FILE = "WORKSPACE.md"


class Unreadable(Exception):
    """Why a document cannot be had, in words."""


def read_document(path: str) -> bytes:
    """The bytes of a document, without waiting for anything: one byte over the limit tells that it is too large."""
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise Unreadable("there is no such file") from None
    except OSError as error:
        raise Unreadable(error.strerror or "it cannot be opened") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is not a regular file")
        data = b""
        while len(data) <= LIMIT and (chunk := os.read(descriptor, LIMIT + 1 - len(data))):
            data += chunk
        return data
    except OSError as error:
        raise Unreadable(error.strerror or "it cannot be read") from None
    finally:
        os.close(descriptor)


def workspace_root(document: str) -> str:
    """The folder of the WORKSPACE.md above a document; its own folder where there is none.

    Folders of somebody else are not searched: a file in a shared one must not decide what a reference means.
    """
    own = folder = os.path.dirname(os.path.realpath(document))
    owner = _owner(own)
    while _owner(folder) == owner:
        if os.path.isfile(os.path.join(folder, WORKSPACE_FILE)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return own


def _owner(folder: str) -> int | None:
    try:
        return os.stat(folder).st_uid
    except OSError:
        return None


def confined(root: str, relative: str) -> str:
    """The real path of what `relative` names below `root`; links that lead out of it are refused."""
    root = os.path.realpath(root)
    path = os.path.realpath(os.path.join(root, relative))
    if path != root and not path.startswith(root.rstrip(os.sep) + os.sep):
        raise Unreadable("it leads out of the workspace")
    return path
