"""Versions that our writes displaced, and what programs that hold them open still write into them.

A program that opened a note before we replaced it goes on writing into the version that we displaced. So that one is
not dropped at once. It keeps its swap name, which tells what it held when it was displaced, and is looked at again
by later writes in its folder:

- it is dropped when it holds what it held, nobody has it open for writing, and it was displaced two seconds ago: a
  program may have been about to open it. Where the system does not tell who writes, after sixty seconds of silence;
- lines that were added to it are added to the note. Half a line waits for its rest until its writer is done;
- anything else is moved to where versions go that nobody has seen. Its writer goes on writing there.

Linux tells who writes: it gives a read lease on a file only while nobody has it open for writing, whichever user that
is, and while the lease lasts, a program that wants to open it so waits. Other systems, many network mounts and files
of other users give none.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections import deque

from agentm_kernel.errors import AgentmError, InvalidLocatorError, LocatorConflictError
from agentm_kernel.files import Opened, read_open_file
from agentm_kernel.files.atomic import publish_new, replace_file
from agentm_kernel.files.medium import last_resort
from agentm_kernel.files.tree import Directory, Identity, hash_of_open_file
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.writing import StoreWriter

try:
    import fcntl
    from signal import SIGURG

    _CAN_LEASE = hasattr(fcntl, "F_SETLEASE")
except ImportError:
    _CAN_LEASE = False

_gives_leases: dict[int, bool] = {}
"""By the number of a device: whether its file system gives leases on files that nobody writes."""

SWAP_SUFFIX = ".swap"
_RANDOM, _DIGEST = 8, 16  # hex digits; with a name of 200 bytes the whole stays below 255
_NOTHING = "-" * _DIGEST
_ANY_SIZE = 1 << 62

LEASED_GRACE = 2.0
UNLEASED_GRACE = 60.0
_AT_EVERY_WRITE = 0.0


def swap_name(name: str, ours: str | None, seen: str | None) -> str:
    """A name that tells which note a file was, and the two contents that it may have without being news."""
    known = "".join(digest[:_DIGEST] if digest else _NOTHING for digest in (ours, seen))
    return f"{TEMP_PREFIX}{os.urandom(_RANDOM // 2).hex()}{known}.{name}{SWAP_SUFFIX}"


class Lease:
    """An open file of a directory, under a lease if there is one to be had: `is_unwritten` tells.

    `True`: nobody has the file open for writing, and nobody can before this lease ends. `False`: somebody has.
    `None`: the system does not tell.
    """

    __slots__ = ("descriptor", "is_unwritten")

    def __init__(self, directory: Directory, name: str) -> None:
        self.descriptor = directory.open_file(name)
        try:
            self.is_unwritten = _take_lease(self.descriptor)
            if self.is_unwritten is False and not _is_worth_believing(directory):
                self.is_unwritten = None
        except BaseException:
            os.close(self.descriptor)
            raise

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_unwritten:
            # Explicitly: a child that was forked meanwhile has a copy of the descriptor, and would keep the lease.
            fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(self.descriptor)


def _take_lease(descriptor: int) -> bool | None:
    if not _CAN_LEASE:
        return None
    try:
        # Who breaks a lease makes the system signal its holder. SIGIO, the usual one, would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


def _is_worth_believing(directory: Directory) -> bool:
    """Whether "somebody writes" means that. Some network mounts say so of every file, also of one just made."""
    device = directory.identity[0]
    if device not in _gives_leases:
        name = directory.new_temp_name()
        os.close(directory.create_file(name, 0o600))
        try:
            with Opened(directory.open_file(name)) as descriptor:
                _gives_leases[device] = bool(_take_lease(descriptor))
        finally:
            directory.unlink(name)
    return _gives_leases[device]


class DisplacedVersions:
    """Those of one store, while they wait and where they go. For the holder of the store's mutex."""

    def __init__(self, writer: StoreWriter) -> None:
        self.writer, self.medium = writer, writer.reader.medium
        self.swept: set[Identity] = set()
        """The directories where this process has looked for what killed writers left."""
        self._waiting: dict[Identity, deque[tuple[float, str]]] = {}
        """By directory: when to look again, and at what."""

    def look_at(
        self, directory: Directory, name: str, status: os.stat_result | None
    ) -> tuple[str | None, bool | None]:
        """The content hash of a file, and whether nobody has it open for writing (`Lease.is_unwritten`).

        No hash if it is gone or its content is not at hand: then it is not what anybody has seen.
        """
        if status is None or not self.medium.is_at_hand(status):
            return None, None
        with Lease(directory, name) as lease:
            return hash_of_open_file(lease.descriptor), lease.is_unwritten

    def digest_if_readable(self, directory: Directory, name: str) -> str | None:
        """The content hash of a file; `None` where there is none, whatever the reason."""
        try:
            return self.look_at(directory, name, directory.status(name))[0]
        except OSError:
            return None

    def add(self, directory: Directory, swap: str, *, is_unwritten: bool | None = False) -> None:
        """Look at `swap` again when the time has come; at every write, while somebody is known to write into it."""
        self._wait(directory, swap, LEASED_GRACE if is_unwritten else _AT_EVERY_WRITE)

    def _wait(self, directory: Directory, swap: str, seconds: float) -> None:
        waiting = self._waiting.setdefault(directory.identity, deque())
        if seconds == _AT_EVERY_WRITE:
            waiting.appendleft((0.0, swap))
        else:
            waiting.append((time.monotonic() + seconds, swap))

    def swept_once(self, directory: Directory) -> Directory:
        """`directory`, without the temp files of killed writers, once per process; what they displaced is found."""
        try:
            if directory.identity not in self.swept:
                for name in directory.sweep():
                    if name.startswith(TEMP_PREFIX) and name.endswith(SWAP_SUFFIX):
                        self.add(directory, name)
                self.swept.add(directory.identity)
        except BaseException:
            directory.close()
            raise
        return directory

    def sweep_again(self, directory: Directory) -> None:
        """Something was left in the directory that the next write there has to look for."""
        self.swept.discard(directory.identity)

    def settle(self, directory: Directory, folder: Locator) -> None:
        """Look at those whose time has come, in the directory at `folder`."""
        waiting = self._waiting.get(directory.identity)
        if not waiting:
            return
        due, now = [], time.monotonic()
        while waiting and waiting[0][0] <= now:
            due.append(waiting.popleft()[1])
        for swap in due:
            try:
                look = _Look(self, directory, folder, swap)
                seconds = look.again()
            except (OSError, AgentmError):
                self.sweep_again(directory)  # it is safe where it is
                continue
            if seconds is not None:
                self._wait(directory, look.swap, seconds)

    def keep(self, directory: Directory, name: str, note: Locator) -> None:
        """Move a file of an open directory to where unseen versions of `note` are kept."""
        folder, free = self._free_place(note, self.digest_if_readable(directory, name))
        with folder:
            directory.move(name, folder, free)
            folder.sync()
        directory.sync()

    def keep_bytes(self, note: Locator, data: bytes) -> None:
        """Put bytes that belong to `note` there."""
        if not (data := self.writer.store.seal(note, data)):
            return
        folder, free = self._free_place(note, content_hash(data))
        with folder:
            replace_file(folder, free, data, None, publish_new)

    def _free_place(self, note: Locator, digest: str | None) -> tuple[Directory, str]:
        """A directory and a name in it that is not taken: the operator may be at work on what was kept before."""
        for place_for in (self.medium.place_for_unseen, self.medium.place_for_unseen, last_resort):
            try:
                place = place_for(note, digest or os.urandom(6).hex())
                folder = self.swept_once(self.writer.make_directories(place.parent))
            except (InvalidLocatorError, LocatorConflictError):
                continue  # too long, or the spelling of another one
            if not folder.has(place.name):
                return folder, place.name
            folder.close()
            digest = None
        raise LocatorConflictError(f"there is no free name for another version of '{note}'")


class _Look:
    """One look at one displaced version."""

    def __init__(self, displaced: DisplacedVersions, directory: Directory, folder: Locator, swap: str) -> None:
        self._displaced, self._directory, self._folder, self.swap = displaced, directory, folder, swap
        known, _, self._name = swap[len(TEMP_PREFIX) + _RANDOM : -len(SWAP_SUFFIX)].partition(".")
        self._ours, self._seen = known[:_DIGEST], known[_DIGEST:]

    def again(self) -> float | None:
        """In how many seconds to look once more; `None` when nothing is left to look at."""
        directory = self._directory
        try:
            note = self._folder.child(self._name)
        except InvalidLocatorError:
            return None  # no writer of ours gave it that name
        status = directory.status(self.swap)
        if not self._name or status is None:
            return None
        beside = directory.status(self._name)
        if beside is not None and os.path.samestat(beside, status):
            return self._drop()  # it got its name back by a link
        if not stat.S_ISREG(status.st_mode) or not self._displaced.medium.is_at_hand(status):
            return self._keep(note)
        try:
            lease = Lease(directory, self.swap)
        except FileNotFoundError:
            return None
        except OSError:
            return self._keep(note)  # it cannot even be read
        with lease:
            try:
                data, _ = read_open_file(lease.descriptor, _ANY_SIZE)
            except OSError:
                return self._keep(note)
            return self._judge(note, data, time.time() - os.fstat(lease.descriptor).st_ctime, lease.is_unwritten)

    def _judge(self, note: Locator, data: bytes, age: float, is_unwritten: bool | None) -> float | None:
        grace = LEASED_GRACE if is_unwritten else UNLEASED_GRACE
        if not data and not is_unwritten and (is_unwritten is False or age < grace):
            return _AT_EVERY_WRITE  # a program has emptied it, and will write now
        gained = self._gained(data)
        if gained != b"" and self._displaced.writer.store.seal(note, data) != data:
            return _AT_EVERY_WRITE  # what is plain stays where it is, and is added to nothing that is sealed
        if gained is None:
            return self._keep(note) if data else self._drop()
        start = len(data) - len(gained)
        if not is_unwritten:  # the rest of the last line may still come
            gained = gained[: gained.rfind(b"\n") + 1]
        if gained and not self._displaced.writer.appending.add_lines(self._directory, note, gained):
            return self._keep(note)
        if is_unwritten is not False and age >= grace:
            return self._drop()
        if gained:  # its name tells from now on that this much of it is in the note
            name = swap_name(self._name, self._ours, content_hash(data[: start + len(gained)]))
            self._directory.replace(self.swap, name)
            self.swap = name
        return _AT_EVERY_WRITE if is_unwritten is False else min(LEASED_GRACE, max(grace - age, 0.01))

    def _gained(self, data: bytes) -> bytes | None:
        """What was added to one of the known contents, which ended with a line; `None` if anything else happened."""
        known = (self._ours, self._seen)
        if content_hash(data)[:_DIGEST] in known:
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

    def _drop(self) -> float | None:
        self._directory.drop(self.swap)
        return None

    def _keep(self, note: Locator) -> float | None:
        self._displaced.keep(self._directory, self.swap, note)
        return None
