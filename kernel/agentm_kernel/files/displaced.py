"""Versions that our writes displaced, and what programs that hold them open still write into them.

A program that opened a note before we replaced it goes on writing into the version that we displaced. So that one is
not dropped at once. It keeps its swap name, which tells what it held when it was displaced, and is looked at again
by later writes in its folder:

- it is dropped when it holds what it held, nobody has it open for writing, and it was displaced two seconds ago: a
  program may have been about to open it. Where the system does not tell who writes, after sixty seconds of silence;
- lines that were added to it are added to the note. Half a line waits for its rest until its writer is done;
- anything else is moved to where versions go that nobody has seen. Its writer goes on writing there.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque

from agentm_kernel.errors import AgentmError, InvalidLocatorError
from agentm_kernel.files.lease import Lease
from agentm_kernel.seam.locator import TEMP_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.swap import ConflictKeeper
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.locator import Locator

    _Identity = tuple[int, int]

SWAP_SUFFIX = ".swap"
_RANDOM, _DIGEST = 8, 16  # hex digits; with a name of 200 bytes the whole stays below 255
_NOTHING = "-" * _DIGEST

LEASED_GRACE = 2.0
UNLEASED_GRACE = 60.0
_AT_EVERY_WRITE = -1.0


def swap_name(name: str, ours: str | None, seen: str | None) -> str:
    """A name that tells which note a file was, and the two contents that it may have without being news."""
    known = "".join(digest[:_DIGEST] if digest else _NOTHING for digest in (ours, seen))
    return f"{TEMP_PREFIX}{os.urandom(_RANDOM // 2).hex()}{known}.{name}{SWAP_SUFFIX}"


class DisplacedVersions:
    """Those of one store that this process knows of. For the holder of the store's mutex."""

    def __init__(self) -> None:
        self._later: dict[_Identity, deque[tuple[float, str]]] = {}
        self._at_every_write: dict[_Identity, set[str]] = {}

    def add(self, directory: Directory, swap: str, *, is_unwritten: bool | None) -> None:
        """Look at `swap` again when the time has come; at every write, while somebody is known to write into it."""
        self._wait(directory, swap, LEASED_GRACE if is_unwritten else _AT_EVERY_WRITE)

    def find(self, directory: Directory, names: list[str]) -> None:
        """Of the `names` in the directory, look at what earlier processes left there at the next `settle`."""
        for name in names:
            if name.startswith(TEMP_PREFIX) and name.endswith(SWAP_SUFFIX):
                self._wait(directory, name, _AT_EVERY_WRITE)

    def settle(self, keeper: ConflictKeeper, directory: Directory, folder: Locator) -> None:
        """Look at those whose time has come, in the directory at `folder`."""
        identity = directory.identity
        due = [*self._at_every_write.pop(identity, ())]
        later = self._later.get(identity)
        now = time.monotonic()
        while later and later[0][0] <= now:
            due.append(later.popleft()[1])
        for swap in due:
            try:
                look = _Look(keeper, directory, folder, swap)
                seconds = look.again()
            except (OSError, AgentmError):
                keeper.sweep_later(directory)  # it is safe where it is
                continue
            if seconds is not None:
                self._wait(directory, look.swap, seconds)

    def _wait(self, directory: Directory, swap: str, seconds: float) -> None:
        if seconds == _AT_EVERY_WRITE:
            self._at_every_write.setdefault(directory.identity, set()).add(swap)
        else:
            later = self._later.setdefault(directory.identity, deque())
            later.append((time.monotonic() + seconds, swap))


class _Look:
    """One look at one displaced version."""

    def __init__(self, keeper: ConflictKeeper, directory: Directory, folder: Locator, swap: str) -> None:
        self._keeper = keeper
        self._directory = directory
        self._folder = folder
        self.swap = swap
        known, _, self._name = swap[len(TEMP_PREFIX) + _RANDOM : -len(SWAP_SUFFIX)].partition(".")
        self._ours, self._seen = known[:_DIGEST], known[_DIGEST:]

    def again(self) -> float | None:
        """In how many seconds to look once more; `None` when nothing is left to look at."""
        try:
            note = self._folder.child(self._name)
        except InvalidLocatorError:
            return None  # no writer of ours gave it that name
        if not self._name:
            return None
        status = self._directory.status(self.swap)
        if status is None:
            return None
        beside = self._directory.status(self._name)
        if beside is not None and (beside.st_dev, beside.st_ino) == (status.st_dev, status.st_ino):
            return self._drop()  # it got its name back by a link
        if not stat.S_ISREG(status.st_mode) or not self._keeper.is_at_hand(status):
            return self._keep(note)
        try:
            lease = Lease(self._directory, self.swap)
        except FileNotFoundError:
            return None
        except OSError:
            return self._keep(note)  # it cannot even be read
        with lease:
            try:
                data = _read(lease.descriptor)
            except OSError:
                return self._keep(note)
            return self._judge(note, data, os.fstat(lease.descriptor), lease.is_unwritten)

    def _judge(self, note: Locator, data: bytes, status: os.stat_result, is_unwritten: bool | None) -> float | None:
        if not data and is_unwritten is False:
            return _AT_EVERY_WRITE  # a program has emptied it, and will write now
        gained = self._gained(data)
        if gained is None:
            return self._drop() if not data else self._keep(note)
        start = len(data) - len(gained)
        if gained:
            if not is_unwritten:  # the rest of the last line may still come
                gained = gained[: gained.rfind(b"\n") + 1]
            if gained and not self._add_to_note(note, gained):
                return self._keep(note)
        grace = LEASED_GRACE if is_unwritten else UNLEASED_GRACE
        age = time.time() - status.st_ctime
        if is_unwritten is not False and age >= grace:
            return self._drop()
        if gained:
            self._remember(data[: start + len(gained)])
        if is_unwritten is False:
            return _AT_EVERY_WRITE
        return min(LEASED_GRACE, max(grace - age, 0.01))

    def _gained(self, data: bytes) -> bytes | None:
        """What was added to one of the known contents, which ended with a line; `None` if anything else happened."""
        import hashlib

        known = (self._ours, self._seen)
        digest = hashlib.sha256(data).hexdigest()
        if digest[:_DIGEST] in known:
            return b""
        if self._ours == _NOTHING:
            return None  # the note was deleted, so there is nothing to add to
        base, end = hashlib.sha256(), 0
        found = 0 if base.hexdigest()[:_DIGEST] in known else None
        while start := data.find(b"\n", end) + 1:
            base.update(data[end:start])
            end = start
            if base.hexdigest()[:_DIGEST] in known:
                found = end
        return None if found is None else data[found:]

    def _add_to_note(self, note: Locator, lines: bytes) -> bool:
        return self._keeper.add_lines(self._directory, note, lines)

    def _remember(self, data: bytes) -> None:
        """Give the file a name that says that this much of it is in the note."""
        import hashlib

        name = swap_name(self._name, self._ours, hashlib.sha256(data).hexdigest())
        self._directory.replace(self.swap, name)
        self.swap = name

    def _drop(self) -> float | None:
        try:
            self._directory.unlink(self.swap)
        except FileNotFoundError:
            pass
        return None

    def _keep(self, note: Locator) -> float | None:
        self._keeper.keep(self._directory, self.swap, note)
        self._directory.sync()
        return None


def _read(descriptor: int) -> bytes:
    chunks = []
    while chunk := os.read(descriptor, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)
