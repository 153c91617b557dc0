"""The processes that a process started, by handles that cannot come to mean another process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def children_of(pid: int) -> Iterator[list[int]]:
    """Handles of all descendants of a process that is alive and ours, for as long as the block lasts.

    Not of the origin's side of a push, which would be another machine.
    """
    handles: list[int] = []
    try:
        _collect(pid, handles)
        yield handles
    finally:
        for handle in handles:
            os.close(handle)


def _collect(parent: int, handles: list[int]) -> None:
    for name in filter(str.isdigit, os.listdir("/proc")):
        pid = int(name)
        if not _is_child(pid, parent):
            continue
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
            if not _is_child(pid, parent):  # it ended, and another was given its number before we had the handle
                os.close(handles.pop())
                continue
            _collect(pid, handles)


def _is_child(pid: int, parent: int) -> bool:
    try:
        return _parent_of(pid) == parent and not _is_the_origins(pid)
    except OSError:
        return False


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _is_the_origins(pid: int) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read()
    return b"receive-pack" in words or b"upload-pack" in words
