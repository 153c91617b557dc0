"""What a command that rewrites the whole store has begun, kept on this device: how it is gone on with after a crash.

For `init` it holds the hash of every plain note that was there when the operator asked. Only those are sealed: a note
that somebody plants while the work is interrupted does not become one of ours.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import IntegrityError, atomic_write, make_private_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

INIT = "init"
DECRYPT = "decrypt"
_WORKS = (INIT, DECRYPT)


class Journal:
    """The work that is under way on one store; none if there is no file."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "journal")
        self.work: str | None = None
        self.hashes: dict[str, str] = {}
        """By key, for `init`."""
        try:
            with open(self._path, encoding="utf-8") as file:
                lines = file.read().split("\n")
        except FileNotFoundError:
            return
        if lines[0] not in _WORKS or lines[-1]:
            raise IntegrityError(f"{self._path} is damaged", hint="move it away, and run the command again")
        self.work = lines[0]
        for line in lines[1:-1]:
            digest, _, key = line.partition(" ")
            self.hashes[key] = digest

    def begin(self, work: str, hashes: Mapping[str, str] | None = None) -> None:
        self.work = work
        self.hashes = dict(hashes or {})
        make_private_folder(os.path.dirname(self._path))
        atomic_write(self._path, "\n".join([work, *(f"{digest} {key}" for key, digest in self.hashes.items()), ""]))

    def end(self) -> None:
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        self.work, self.hashes = None, {}
