"""Taking over a note's name in a folder that a sync client writes to as well, without losing what it brings.

The client knows nothing of our mutex: it may put another version there between our look and our rename. So

1. the finished temp file gets a *swap name*, which tells what it holds and what we saw under the note's name;
2. the two names are exchanged in one step: what had the note's name is now under the swap name;
3. if that is what we saw, it is dropped; anything else is moved to `_meta/conflicts/`, where it is listed.

A process that dies in between leaves the swap file, and `recover` finishes its work: nothing is dropped there either
that is neither ours nor what we saw. Where names cannot be exchanged, the content is compared once more just before
the rename: the window shrinks to the time between two system calls, and the documentation says so.
"""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import LocatorConflictError
from agentm_kernel.files.atomic import discard, publish_new
from agentm_kernel.files.failures import changed
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import TEMP_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.locator import Locator

    class Keeper(Protocol):
        """The store, as far as a replacement needs it."""

        def digest(self, directory: Directory, name: str) -> str | None:
            """The content hash of a file; `None` if its content is not at hand."""

        def keep(self, directory: Directory, name: str, note: Locator) -> None:
            """Move a file of an open directory to where versions of `note` are kept."""

        def keep_copy(self, directory: Directory, name: str, note: Locator) -> None:
            """The same, leaving the file where it is."""

        def sweep_later(self, directory: Directory) -> None:
            """Something was left in the directory that `recover` has to look at."""


_SWAP_SUFFIX = ".swap"
_RANDOM, _DIGEST = 8, 16  # hex digits; with a name of 200 bytes the whole stays below 255
_NOTHING = "-" * _DIGEST
_PATIENCE = 10


def hash_of_file(directory: Directory, name: str) -> str:
    """The content hash of a regular file of any size."""
    import hashlib

    digest = hashlib.sha256()
    descriptor = directory.open_file(name)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(name)
        while chunk := os.read(descriptor, 1 << 20):
            digest.update(chunk)
    finally:
        os.close(descriptor)
    return digest.hexdigest()


class Replacement:
    """How one write takes over its name; `seen` is the hash of what the note held, `None` if there was none."""

    def __init__(self, keeper: Keeper, note: Locator, data: bytes, seen: str | None, *, is_conditional: bool) -> None:
        self._keeper = keeper
        self._note = note
        self._ours = content_hash(data)
        self._seen = seen
        self._is_conditional = is_conditional

    def __call__(self, directory: Directory, temp: str, name: str) -> None:
        if self._seen is None:
            try:
                publish_new(directory, temp, name)
                return
            except FileExistsError:
                if self._is_conditional:
                    raise
        self._take_over(directory, temp, name)

    def _take_over(self, directory: Directory, temp: str, name: str) -> None:
        swap = self._swap_name(name)
        directory.replace(temp, swap)
        try:
            is_exchanged = self._exchange_or_publish(directory, swap, name)
        except BaseException:
            discard(directory, swap)
            raise
        if is_exchanged:
            self._settle(directory, swap, name)

    def _swap_name(self, name: str) -> str:
        unique = os.urandom(_RANDOM // 2).hex()
        seen = self._seen[:_DIGEST] if self._seen else _NOTHING
        return f"{TEMP_PREFIX}{unique}{self._ours[:_DIGEST]}{seen}.{name}{_SWAP_SUFFIX}"

    def _exchange_or_publish(self, directory: Directory, swap: str, name: str) -> bool:
        """Whether the swap name now holds what had the note's name; otherwise it is gone, and our work done."""
        for _ in range(_PATIENCE):
            try:
                if directory.exchange(swap, name):
                    return True
                self._replace_after_another_look(directory, swap, name)
                return False
            except FileNotFoundError:
                if self._is_conditional:
                    raise changed(self._note, "it is not there any more") from None
            try:
                publish_new(directory, swap, name)
                return False
            except FileExistsError:
                continue
        raise changed(self._note, "another program creates and deletes it all the time")

    def _replace_after_another_look(self, directory: Directory, swap: str, name: str) -> None:
        if hash_of_file(directory, name) != self._seen:
            if self._is_conditional:
                raise changed(self._note, "its content is not what was expected")
            self._keeper.keep_copy(directory, name, self._note)
        directory.replace(swap, name)

    def _settle(self, directory: Directory, swap: str, name: str) -> None:
        """Drop the displaced version if it is the one we saw; keep any other."""
        try:
            status = directory.status(swap)
            if status is not None and not stat.S_ISREG(status.st_mode):
                raise LocatorConflictError(f"'{self._note}' has just become something else than a file")
            if status is not None and self._keeper.digest(directory, swap) != self._seen:
                self._keeper.keep(directory, swap, self._note)
                return
        except BaseException:
            self._undo(directory, swap, name)
            raise
        try:
            directory.unlink(swap)
        except FileNotFoundError:
            pass
        except OSError:  # the note is written, and what it held may go another time
            self._keeper.sweep_later(directory)

    def _undo(self, directory: Directory, swap: str, name: str) -> None:
        """Put the displaced version back. What cannot be put back stays under the swap name for `recover`."""
        try:
            if directory.exchange(swap, name) and hash_of_file(directory, swap) == self._ours:
                directory.unlink(swap)
        except OSError:
            pass


def recover(keeper: Keeper, directory: Directory, folder: Locator) -> None:
    """Finish what killed writers left in the directory at `folder`. Only for the holder of the mutex."""
    for name in directory.names():
        if not (name.startswith(TEMP_PREFIX) and name.endswith(_SWAP_SUFFIX)):
            continue
        known, _, note = name[len(TEMP_PREFIX) + _RANDOM : -len(_SWAP_SUFFIX)].partition(".")
        digest = keeper.digest(directory, name)
        if digest is not None and digest[:_DIGEST] in (known[:_DIGEST], known[_DIGEST:]):
            directory.unlink(name)
        else:
            keeper.keep(directory, name, folder.child(note))
            directory.sync()
    directory.sweep()
