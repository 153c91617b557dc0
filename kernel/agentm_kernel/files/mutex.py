"""One writer per store: a lock of the operating system on the store's root directory.

The lock is the directory's inode, so every spelling of the path, every HOME and every container that reaches the
directory shares it, nothing lies inside the synced tree, and the kernel frees it the moment its holder dies. It is
never taken from a holder that is merely slow or paused.

Re-entrant in a thread: one that is inside does not ask again. The threads of a process exclude each other as
processes do, each by an open descriptor of its own. A store inside another store takes the outer one's lock as well,
because both can reach the same files.
"""

from __future__ import annotations

import _thread
import os
import time

from agentm_kernel.errors import LockTimeout, StorageIOError
from agentm_kernel.files import close_quietly, in_a_thread, native_lock, user_directory
from agentm_kernel.files.tree import O_NOFOLLOW, Identity, identity_of, make_private_folder
from agentm_kernel.seam.layout import STAMP_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

DEFAULT_TIMEOUT = 10.0

# No lock guards these: each use is one atomic step of its container. A lock could be held by the very thread that a
# signal handler interrupts, and a handler that writes would then wait for ever.
_inside: dict[Identity, _Claim] = {}
"""By which claim a thread of this process has the lock of a directory."""
_open_descriptors: set[int] = set()
_process = object()
"""Another one in each process: cheaper to ask than its number."""


def _forget_after_fork() -> None:
    """A child owns none of its parent's locks: drop the copies of their descriptors without unlocking."""
    global _process
    _process = object()
    for descriptor in [*_open_descriptors]:
        _close(descriptor)
    _inside.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class StoreMutex:
    """`with store_mutex(root): …` holds the lock of the store at `root`, an existing directory.

    `LockTimeout` after `timeout` seconds, ten if it is not given, naming the holder where the system tells it.
    `meanwhile` is called where another one has it, before we wait in turn. `follow_link`: whether `root` may be a
    link; the look that decides and the opening are one call, so nobody can come between them.
    """

    __slots__ = ("_deadline", "_held", "_process", "_root", "_root_flags", "meanwhile", "timeout")

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        timeout: float | None = None,
        meanwhile: Callable[[], None] | None = None,
        follow_link: bool = True,
    ) -> None:
        self.timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        self._root_flags = 0 if follow_link else O_NOFOLLOW
        self._root, self.meanwhile = os.fspath(root), meanwhile
        self._held: list[_Claim] = []

    def time_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        now = time.monotonic()
        self._deadline, self._process = now + self.timeout, _process
        try:
            while True:
                above = _surroundings(self._root, now)
                for directory in above.stores:
                    self._acquire(directory, 0)
                self._acquire(self._root, self._root_flags)
                if self._held[-1].identity == above.identity:
                    return self
                self.__exit__()  # the path leads elsewhere now, perhaps into another store
                _above.pop(self._root, None)
                self._check_time(self._root)
        except BaseException:
            self.__exit__()
            raise

    def _acquire(self, directory: str, flags: int) -> None:
        while True:
            # A signal handler may raise, or enter the mutex itself, at any call: so a claim is known, then taken.
            claim = _Claim()
            self._held.append(claim)
            claim.take(directory, flags, self)
            if claim.is_still_of(directory):
                return
            claim.release()  # it was replaced while we waited: lock the one that is there now
            self._held.pop()
            self._check_time(directory)

    def _check_time(self, directory: str) -> None:
        if not self.time_left():
            raise LockTimeout(f"{directory} was replaced all the time for {self.timeout:g} s; nothing was written")

    @property
    def root(self) -> tuple[int, os.stat_result] | None:
        """The open root and its status, if that is what this mutex locked; lent: the end of the block closes it."""
        claim = self._held[-1]
        return (claim.descriptor, claim.status) if native_lock.LOCKS_DIRECTORIES and claim.is_outermost else None

    def unlock(self) -> None:
        """Let others in before the end of the block, for what is left to do there and needs no lock."""
        if self._process is _process:
            for claim in reversed(self._held):
                claim.unlock()

    def __exit__(self, *_: object) -> None:
        # A fork inside the block leaves the child without the locks, and without the right to release them.
        while self._held and self._process is _process:
            self._held[-1].release()  # known until it is released: a signal handler may raise in between
            self._held.pop()

    def __del__(self) -> None:
        if getattr(self, "_held", None):  # a signal handler raised on the way into __exit__, or out of it
            self.__exit__()


store_mutex = StoreMutex


class _Above:
    """What the path of a root led to, and the folders above that, each with its stamp and whether it had that."""

    __slots__ = ("folders", "identity", "looked_at", "stores")

    def __init__(self, root: str) -> None:
        self.looked_at, self.stores = -_LOOK_EVERY, list[str]()
        self.identity, self.folders = identity_of(os.stat(root)), list[tuple[str, str, bool]]()
        path = os.path.realpath(root)
        while (parent := os.path.dirname(path)) != path:
            path, stamp, is_store = parent, os.path.join(parent, STAMP_KEY), True
            try:
                os.stat(stamp)
            except (FileNotFoundError, NotADirectoryError):
                is_store = False
            self.folders.insert(0, (parent, stamp, is_store))


_above: dict[str, _Above] = {}
_LOOK_EVERY = 0.02  # seconds: many notes are written in that time, and a look costs as much as the lock


def _surroundings(root: str, now: float) -> _Above:
    """What the path leads to, and the stores around that, outermost first: one order for everybody, so no deadlock.

    The first look is strict: failing to look is not a no, it would leave an outer lock untaken. Later ones only have
    to notice a stamp that has come since; what was a store at first is taken for one ever after.
    """
    above = _above.get(root)
    if above is None:
        try:
            above = _above[root] = _Above(root)
        except OSError as error:
            raise _cannot_lock(root, error) from error
    if now - above.looked_at >= _LOOK_EVERY:
        found = [folder for folder, stamp, was_store in above.folders if was_store or os.access(stamp, os.F_OK)]
        above.looked_at, above.stores = now, found
    return above


class _Claim:
    """One entry into one directory. The outermost of a thread has the kernel's lock, by its descriptor."""

    descriptor = -1
    is_outermost = False
    thread: int
    identity: Identity
    status: os.stat_result

    def take(self, directory: str, flags: int, mutex: StoreMutex) -> None:
        """Open it and wait for it; nobody is taken to be inside before the kernel said so."""
        try:
            self._open(directory, flags)
        except OSError as error:
            raise _cannot_lock(directory, error) from error
        identity, self.thread = self.identity, _thread.get_ident()
        known = _inside.get(identity)
        if known is not None and known.thread == self.thread and known.descriptor >= 0:
            return
        try:
            is_ours = native_lock.try_lock(self.descriptor) or self._wait(mutex)
        except OSError as error:
            hint = "keep the store on a file system with working locks; agentm does not write without one"
            raise _cannot_lock(directory, error, hint) from error
        if not is_ours:
            is_here = identity in _inside
            holder = "another thread of this process" if is_here else native_lock.holder_of(identity)
            raise LockTimeout(
                f"the store at {directory} was locked by {holder} for {mutex.timeout:g} s; nothing was written",
                hint="try again; if that process hangs, end it: its lock goes with it",
            )
        self.is_outermost = True
        _inside[identity] = self

    def _open(self, directory: str, flags: int) -> None:
        if native_lock.LOCKS_DIRECTORIES:
            self.descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | flags)
            _open_descriptors.add(self.descriptor)
            self.identity = identity_of(os.fstat(self.descriptor))
        else:  # a file of this user's state is locked, and never deleted
            self.identity = identity_of(os.stat(directory))
            folder = os.path.join(user_directory("state", os.environ), "locks")
            make_private_folder(folder)
            path = os.path.join(folder, "{:x}-{:x}.lock".format(*self.identity))
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            _open_descriptors.add(self.descriptor)

    def _wait(self, mutex: StoreMutex) -> bool:
        if mutex.meanwhile is not None:
            mutex.meanwhile()
            if native_lock.try_lock(self.descriptor):
                return True
        return mutex.time_left() > 0 and _wait_in_turn(self, mutex.time_left())

    def is_still_of(self, directory: str) -> bool:
        """Whether the path leads to what was locked. If so, `status` is as it was under the lock."""
        try:
            self.status = os.stat(directory)
        except OSError:
            return False  # whatever is wrong, opening it again will tell, and by then we hold nothing
        return identity_of(self.status) == self.identity

    def unlock(self) -> None:
        if self.is_outermost:
            if _inside.get(self.identity) is self:
                _inside.pop(self.identity, None)
            if self.descriptor >= 0:  # explicitly: a forked child may still hold a copy of the descriptor
                native_lock.unlock(self.descriptor)
            self.is_outermost = False

    def release(self) -> None:
        """Once more, if a signal handler raised in the middle of it: then the rest is done."""
        try:
            self.unlock()
        finally:
            descriptor, self.descriptor = self.descriptor, -1
            if descriptor >= 0:
                _close(descriptor)


def _wait_in_turn(claim: _Claim, seconds: float) -> bool:
    """Whether the lock has come, to a thread that waits in the kernel: its queue is fair, where polling starves
    some of 32 writers.

    The system call cannot be cancelled. A thread that is given up owns the descriptor, and closes it, lock and all,
    when its turn comes.
    """
    descriptor, finished, failed = claim.descriptor, _thread.allocate_lock(), list[OSError]()
    undecided = {"owner": claim}  # whoever takes it out first: the thread when it has its answer, or who gives it up

    def wait() -> None:
        try:
            native_lock.wait_for_lock(descriptor)
        except OSError as error:
            failed.append(error)
        if undecided.pop("owner", None) is None:
            _close(descriptor)
        finished.release()

    finished.acquire()
    if not in_a_thread(wait):
        return _poll(descriptor, time.monotonic() + seconds)
    try:
        finished.acquire(timeout=seconds)
    finally:  # also when a signal handler raises, perhaps after the lock had come
        if undecided.pop("owner", None) is not None:
            claim.descriptor = -1
    if failed:
        raise failed[0]
    return claim.descriptor >= 0


def _poll(descriptor: int, deadline: float) -> bool:
    """The same without a thread, and without a queue."""
    while not (is_ours := native_lock.try_lock(descriptor)) and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY)
    return is_ours


def _close(descriptor: int) -> None:
    _open_descriptors.discard(descriptor)
    close_quietly(descriptor)


def _cannot_lock(directory: str, error: OSError, hint: str | None = None) -> StorageIOError:
    return StorageIOError(f"cannot lock {directory}: {error.strerror}", errno=error.errno, hint=hint)
