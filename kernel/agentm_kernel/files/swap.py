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

from agentm_kernel.errors import AgentmError, InvalidLocatorError, LocatorConflictError
from agentm_kernel.files.appending import add_lines
from agentm_kernel.files.atomic import discard, publish_new, replace_file
from agentm_kernel.files.displaced import swap_name
from agentm_kernel.files.failures import changed
from agentm_kernel.files.lease import Lease
from agentm_kernel.files.medium import last_resort
from agentm_kernel.seam.content import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.medium import Medium
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.files.writing import StoreWriter
    from agentm_kernel.seam.locator import Locator

    _Identity = tuple[int, int]

_PATIENCE = 10
_ANY_SIZE = 1 << 62

_CHANGED_MEANWHILE = "another program has just changed it"


def hash_of_file(directory: Directory, name: str) -> str:
    """The content hash of a regular file of any size."""
    descriptor = directory.open_file(name)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(name)
        return _hash_of_open_file(descriptor)
    finally:
        os.close(descriptor)


def _hash_of_open_file(descriptor: int) -> str:
    import hashlib

    digest = hashlib.sha256()
    while chunk := os.read(descriptor, 1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def hash_of_note(medium: Medium, directory: Directory, note: Locator, status: os.stat_result) -> str:
    """The content hash of a note that is about to be replaced, unless the medium has a reason not to read it."""
    medium.before_reading(note, status)
    try:
        return hash_of_file(directory, note.name)
    except OSError as error:
        medium.when_unreadable(note, error)
        raise


class ConflictKeeper:
    """Where versions go that nobody has seen. For the holder of the store's mutex."""

    def __init__(self, medium: Medium, writer: StoreWriter) -> None:
        self._medium = medium
        self._writer = writer

    def is_at_hand(self, status: os.stat_result) -> bool:
        """Whether a file can be read without waiting for anything."""
        return self._medium.is_at_hand(status)

    def look_at(self, directory: Directory, name: str) -> tuple[str | None, bool | None]:
        """The content hash of a file, and whether nobody has it open for writing (`Lease.is_unwritten`).

        No hash if its content is not at hand: then it is not what anybody has seen.
        """
        status = directory.status(name)
        if status is None or not self._medium.is_at_hand(status):
            return None, None
        with Lease(directory, name) as lease:
            return _hash_of_open_file(lease.descriptor), lease.is_unwritten

    def digest_if_readable(self, directory: Directory, name: str) -> str | None:
        """The content hash of a file; `None` where there is none, whatever the reason."""
        try:
            return self.look_at(directory, name)[0]
        except OSError:
            return None

    def wait_for_writers(self, directory: Directory, swap: str, *, is_unwritten: bool | None) -> None:
        """Leave a displaced version under its swap name, to be looked at by later writes."""
        self._writer.displaced.add(directory, swap, is_unwritten=is_unwritten)

    def add_lines(self, directory: Directory, note: Locator, lines: bytes) -> bool:
        """Whether there is a note to which whole lines could be added; then they are durable."""
        return add_lines(self._writer, directory, note, lines)

    def keep(self, directory: Directory, name: str, note: Locator) -> None:
        """Move a file of an open directory to where unseen versions of `note` are kept."""
        folder, free = self._free_place(note, self.digest_if_readable(directory, name))
        with folder:
            directory.move(name, folder, free)
            folder.sync()

    def keep_copy(self, directory: Directory, name: str, note: Locator) -> None:
        """The same, leaving the file where it is."""
        self.keep_bytes(note, directory.read_file(name, _ANY_SIZE)[0])

    def keep_bytes(self, note: Locator, data: bytes) -> None:
        """Put bytes that belong to `note` there."""
        folder, free = self._free_place(note, content_hash(data))
        with folder:
            replace_file(folder, free, data, None, publish=publish_new)

    def _free_place(self, note: Locator, digest: str | None) -> tuple[Directory, str]:
        """A directory and a name in it that is not taken: the operator may be at work on what was kept before."""
        for place_for in (self._medium.place_for_unseen, self._medium.place_for_unseen, last_resort):
            try:
                place = place_for(note, digest or os.urandom(6).hex())
                folder = self._writer.make_directories(place.parent)
            except (InvalidLocatorError, LocatorConflictError):
                continue  # too long, or the spelling of another one
            if not folder.has(place.name):
                return folder, place.name
            folder.close()
            digest = None
        raise LocatorConflictError(f"there is no free name for another version of '{note}'")

    def sweep_later(self, directory: Directory) -> None:
        """Something was left in the directory that a later write has to look at."""
        self._writer.sweep_again(directory)


class SwapPublisher:
    """How one write takes over its name; `seen` is the hash of what the note held, `None` if there was none."""

    def __init__(
        self, keeper: ConflictKeeper, note: Locator, data: bytes, seen: str | None, *, is_conditional: bool
    ) -> None:
        self._keeper = keeper
        self._note = note
        self._data = data
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
        self._ours = content_hash(self._data)
        swap = swap_name(name, self._ours, self._seen)
        directory.replace(temp, swap)
        try:
            is_exchanged = self._exchange_or_publish(directory, swap, name)
        except BaseException:  # perhaps a signal, when the names were exchanged already
            self._drop_ours(directory, swap)
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
                    raise changed(self._note, "it is not there any more") from None
            try:
                publish_new(directory, swap, name)
                return False
            except FileExistsError:
                continue
        raise changed(self._note, "another program creates and deletes it all the time")

    def _replace_after_another_look(self, directory: Directory, swap: str, name: str) -> None:
        found = hash_of_file(directory, name)
        if found != self._seen:
            if self._is_conditional:
                raise changed(self._note, _CHANGED_MEANWHILE)
            self._keeper.keep_copy(directory, name, self._note)
        displaced = swap_name(name, self._ours, found)
        try:
            directory.link(name, displaced)
        except OSError:
            displaced = ""  # without exchange and without links: what a program still writes there is lost
        directory.replace(swap, name)
        if displaced:
            self._keeper.wait_for_writers(directory, displaced, is_unwritten=None)

    def _settle(self, directory: Directory, swap: str, name: str) -> None:
        """Let the displaced version wait for its writers if it is the one we saw, or if it makes no difference."""
        try:
            status = directory.status(swap)
            if status is None:
                return
            if not stat.S_ISREG(status.st_mode):
                raise LocatorConflictError(f"'{self._note}' has just become something else than a file")
            digest, is_unwritten = self._keeper.look_at(directory, swap)
            is_news = digest is None or digest != self._seen
            if is_news and self._is_conditional:
                raise changed(self._note, _CHANGED_MEANWHILE)
        except BaseException:
            self._undo(directory, swap, name)
            raise
        self._keeper.wait_for_writers(directory, swap, is_unwritten=False if is_news else is_unwritten)

    def _drop_ours(self, directory: Directory, swap: str) -> None:
        """Remove our version; what else has the swap name stays there for a later look."""
        if self._keeper.digest_if_readable(directory, swap) == self._ours:
            discard(directory, swap)
        else:
            self._keeper.sweep_later(directory)

    def _undo(self, directory: Directory, swap: str, name: str) -> None:
        """Give the displaced version its name back. What cannot be, stays under the swap name for a later look."""
        try:
            displaced = _identity(directory, swap)
            try:
                directory.exchange(swap, name)
            except FileNotFoundError:  # ours was deleted in the moment it was there
                publish_new(directory, swap, name)
                return
            if hash_of_file(directory, swap) == self._ours:
                # It had the name for a moment: a program may have opened it.
                self._keeper.wait_for_writers(directory, swap, is_unwritten=None)
            else:  # a newer one had come in the place of ours
                self._give_newest_the_name(directory, swap, name, displaced)
        except (OSError, AgentmError):
            self._keeper.sweep_later(directory)

    def _give_newest_the_name(self, directory: Directory, swap: str, name: str, put: _Identity | None) -> None:
        """The swap name has the newest version, unless a newer one takes the place of the one we `put` there last."""
        for _ in range(_PATIENCE):
            newest = _identity(directory, swap)
            directory.exchange(swap, name)
            if _identity(directory, swap) == put:
                break
            put = newest
        self._keeper.keep(directory, swap, self._note)


def remove(keeper: ConflictKeeper, directory: Directory, note: Locator, seen: str, *, is_conditional: bool) -> None:
    """Delete the note that was seen with this hash. If it is another by now, a condition does not hold."""
    swap = swap_name(note.name, None, seen)
    try:
        directory.replace(note.name, swap)
    except FileNotFoundError:
        if is_conditional:
            raise changed(note, "it is not there any more") from None
        return
    try:
        digest, is_unwritten = keeper.look_at(directory, swap)
        if digest != seen and is_conditional:
            raise changed(note, _CHANGED_MEANWHILE)
    except BaseException:
        _give_back(keeper, directory, swap, note)
        raise
    if digest == seen and is_unwritten:
        _drop(keeper, directory, swap)  # what is deleted should not stay on the disk without need
    else:
        keeper.wait_for_writers(directory, swap, is_unwritten=False)


def _give_back(keeper: ConflictKeeper, directory: Directory, swap: str, note: Locator) -> None:
    try:
        publish_new(directory, swap, note.name)
    except FileExistsError:  # yet another one has come
        _keep_or_leave(keeper, directory, swap, note)
    except OSError:
        keeper.sweep_later(directory)


def _keep_or_leave(keeper: ConflictKeeper, directory: Directory, swap: str, note: Locator) -> None:
    """Keep a version; one that cannot be kept now is safe under its swap name, and is looked at again."""
    try:
        keeper.keep(directory, swap, note)
        directory.sync()
    except (OSError, AgentmError):
        keeper.sweep_later(directory)


def _drop(keeper: ConflictKeeper, directory: Directory, swap: str) -> None:
    try:
        directory.unlink(swap)
    except FileNotFoundError:
        pass
    except OSError:  # the work is done, and what had the name may go another time
        keeper.sweep_later(directory)


def _identity(directory: Directory, name: str) -> _Identity | None:
    status = directory.status(name)
    return None if status is None else (status.st_dev, status.st_ino)
