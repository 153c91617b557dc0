"""Writing and deleting where others do so too who know nothing of our mutex: sync clients, editors, agents.

Between our look at a note and our rename, they may put another version there. So

1. the finished temp file gets a *swap name*, which tells what it holds and what we saw under the note's name;
2. the two names are exchanged in one step: what had the note's name is now under the swap name;
3. if that is what we saw, it waits there until no program can write into it any more (`displaced`). Anything else
   nobody has seen: it gets its name back, and a write on condition is refused; a write without one stands, and what
   the other version has more is added to the note, or that version kept elsewhere.

A note that is deleted is moved to such a name first, for the same look at what it was. A process that dies in between
leaves the swap file, and the next writer finishes its work: nothing is dropped there either that is neither ours nor
what we saw. Where names cannot be exchanged, the content is compared once more just before the rename: the window
shrinks to the time between two system calls, and the documentation says so.
"""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import AgentmError, ConcurrentModificationError, LocatorConflictError
from agentm_kernel.files.atomic import discard, publish_new
from agentm_kernel.files.displaced import DisplacedVersions, swap_name
from agentm_kernel.seam.content import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.locator import Locator

_PATIENCE = 10
_ANY_SIZE = 1 << 62

GONE = "it is not there any more"
_CHANGED_MEANWHILE = "another program has just changed it"


def changed(locator: Locator, why: str) -> ConcurrentModificationError:
    """The condition of a write did not hold."""
    return ConcurrentModificationError(
        f"'{locator}' was not written: {why}", hint="read it again, redo the change, and write with the new hash"
    )


class SwapPublisher:
    """How one write takes over its name; `seen` is the hash of what the note held, `None` if there was none."""

    def __init__(
        self, displaced: DisplacedVersions, note: Locator, data: bytes, seen: str | None, *, is_conditional: bool
    ) -> None:
        self._displaced, self._note, self._data, self._seen = displaced, note, data, seen
        self._is_conditional = is_conditional

    def __call__(self, directory: Directory, temp: str, name: str) -> None:
        if self._seen is None:
            try:
                publish_new(directory, temp, name)
                return
            except FileExistsError:
                if self._is_conditional:
                    raise
        self._ours = content_hash(self._data)
        swap = swap_name(name, self._ours, self._seen)
        directory.replace(temp, swap)
        try:
            is_exchanged = self._exchange_or_publish(directory, swap, name)
        except BaseException:  # perhaps a signal, when the names were exchanged already
            if self._displaced.digest_if_readable(directory, swap) == self._ours:
                discard(directory, swap)
            else:
                self._displaced.sweep_again(directory)
            raise
        if is_exchanged:
            self._settle(directory, swap, name)

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
                    raise changed(self._note, GONE) from None
            try:
                publish_new(directory, swap, name)
                return False
            except FileExistsError:
                continue
        raise changed(self._note, "another program creates and deletes it all the time")

    def _replace_after_another_look(self, directory: Directory, swap: str, name: str) -> None:
        found = directory.hash_file(name)
        if found != self._seen:
            if self._is_conditional:
                raise changed(self._note, _CHANGED_MEANWHILE)
            self._displaced.keep_bytes(self._note, directory.read_file(name, _ANY_SIZE)[0])
        displaced = swap_name(name, self._ours, found)
        try:
            directory.link(name, displaced)
        except OSError:
            displaced = ""  # without exchange and without links: what a program still writes there is lost
        directory.replace(swap, name)
        if displaced:
            self._displaced.add(directory, displaced)

    def _settle(self, directory: Directory, swap: str, name: str) -> None:
        """Let the displaced version wait for its writers if it is the one we saw, or if it makes no difference."""
        try:
            status = directory.status(swap)
            if status is None:
                return
            if not stat.S_ISREG(status.st_mode):
                raise LocatorConflictError(f"'{self._note}' has just become something else than a file")
            digest, is_unwritten = self._displaced.look_at(directory, swap, status)
            is_news = digest is None or digest != self._seen
            if is_news and self._is_conditional:
                raise changed(self._note, _CHANGED_MEANWHILE)
        except BaseException:
            self._undo(directory, swap, name)
            raise
        self._displaced.add(directory, swap, is_unwritten=is_unwritten and not is_news)

    def _undo(self, directory: Directory, swap: str, name: str) -> None:
        """Give the displaced version its name back, or the newest one its name if others have come in the place of
        ours; then the displaced one is kept. What cannot be, stays under the swap name for a later look.
        """
        put = None
        try:
            for _ in range(_PATIENCE):
                newest = directory.status(swap)
                try:
                    directory.exchange(swap, name)
                except FileNotFoundError:  # what we put there was deleted in the moment it was there
                    publish_new(directory, swap, name)
                    return
                if put is None and directory.hash_file(swap) == self._ours:
                    # It had the name for a moment: a program may have opened it.
                    self._displaced.add(directory, swap)
                    return
                found = directory.status(swap)
                if put is not None and found is not None and os.path.samestat(put, found):
                    break
                put = newest
            self._displaced.keep(directory, swap, self._note)
        except (OSError, AgentmError):
            self._displaced.sweep_again(directory)


def remove(
    displaced: DisplacedVersions, directory: Directory, note: Locator, seen: str, *, is_conditional: bool
) -> None:
    """Delete the note that was seen with this hash. If it is another by now, a condition does not hold."""
    swap = swap_name(note.name, None, seen)
    try:
        directory.replace(note.name, swap)
    except FileNotFoundError:
        if is_conditional:
            raise changed(note, GONE) from None
        return
    try:
        digest, is_unwritten = displaced.look_at(directory, swap, directory.status(swap))
        if digest != seen and is_conditional:
            raise changed(note, _CHANGED_MEANWHILE)
    except BaseException:
        _give_back(displaced, directory, swap, note)
        raise
    if digest != seen or not is_unwritten:
        displaced.add(directory, swap)
        return
    try:
        directory.drop(swap)  # what is deleted should not stay on the disk without need
    except OSError:  # the work is done, and what had the name may go another time
        displaced.sweep_again(directory)


def _give_back(displaced: DisplacedVersions, directory: Directory, swap: str, note: Locator) -> None:
    """Give it its name back, or keep it if yet another one has come; else it is safe under its swap name."""
    try:
        try:
            publish_new(directory, swap, note.name)
        except FileExistsError:
            displaced.keep(directory, swap, note)
    except (OSError, AgentmError):
        displaced.sweep_again(directory)
