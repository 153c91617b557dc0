"""Commit objects, written as git writes them.

Git's own command for it, `commit-tree`, is one process more in every commit: 100 writes with commits then took 1.51
to 1.63 times as long as `git add` and `git commit` (1.36 to 1.41 without it; measured side by side by
`python -m tests.benchmarks git`), and 1.5 is what this plugin promises. A test compares it with git.
"""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from typing import TYPE_CHECKING

from agentm_kernel.errors import StorageIOError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_git.runner import Git

_READABLE = 0o444


class Commits:
    """The commits of one repository, by the folder of its objects."""

    def __init__(self, objects: str, git: Git) -> None:
        self._objects = objects
        self._git = git

    def make(self, tree: str, parents: Sequence[str], person: str, message: str) -> str:
        """A new commit of `person`, who is `Name <address>`; its id."""
        signed = f"{person} {_now()}"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {signed}", f"committer {signed}", "", message]
        return self._write("\n".join(lines).encode(errors="replace"))

    def again(self, commit: str, tree: str, parent: str) -> str:
        """The same commit, by the same author at the same time, with another tree and parent."""
        head, _, message = self._git.run("cat-file", "commit", commit).partition(b"\n\n")
        kept = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer ", b"encoding "))]
        lines = [f"tree {tree}".encode(), f"parent {parent}".encode(), *kept]
        return self._write(b"\n".join(lines) + b"\n\n" + message)

    def _write(self, content: bytes) -> str:
        data = b"commit %d\0" % len(content) + content
        identity = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        folder = os.path.join(self._objects, identity[:2])
        path = os.path.join(folder, identity[2:])
        if os.path.exists(path):
            return identity
        temp = os.path.join(folder, f"tmp_obj_{os.urandom(4).hex()}")  # git's name for it, so git sweeps leftovers
        try:
            os.makedirs(folder, exist_ok=True)
            _write_durably(temp, zlib.compress(data, 1))
            os.replace(temp, path)
        except OSError as error:
            raise StorageIOError(f"cannot store a commit in {folder}: {error.strerror}", errno=error.errno) from error
        return identity


def _write_durably(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _READABLE)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    """The time in git's words: seconds, and how far local clocks are from it."""
    moment = int(time.time())
    minutes = time.localtime(moment).tm_gmtoff // 60
    sign = "-" if minutes < 0 else "+"
    return f"{moment} {sign}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
