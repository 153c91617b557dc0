"""One writer per store: a lock of the operating system on the store's root directory.

The lock is the directory's inode, so every spelling of the path, every HOME and every container that reaches the
directory shares it, nothing lies inside the synced tree, and the kernel frees it the moment its holder dies. It is
never taken from a holder that is merely slow or paused.

Re-entrant in a thread. Threads of one process queue on an ordinary lock first; only the first of them asks the
kernel. A store inside another store takes the outer one's lock as well, because both can reach the same files.
"""

from __future__ import annotations

import _thread
import os
import time

from agentm_kernel.errors import LockTimeout, StorageIOError
from agentm_kernel.files import native_lock, user_directory
from agentm_kernel.seam.layout import STAMP_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

DEFAULT_TIMEOUT = 10.0

_Identity = tuple[int, int]


class _Hold:
    """What this process knows about one directory: whose turn among its threads, and whether that one is inside."""

    __slots__ = ("is_locked", "turn")

    def __init__(self) -> None:
        self.turn = _thread.RLock()
        self.is_locked = False


class _Claim:
    """One entry into one directory. The outermost of a thread has the descriptor that carries the kernel's lock."""

    __slots__ = ("descriptor", "hold", "identity")

    def __init__(self) -> None:
        self.hold: _Hold | None = None
        self.identity: _Identity | None = None
        self.descriptor = -1


# No lock guards these two: each use is one atomic step of its container. A lock could be held by the very thread that
# a signal handler interrupts, and a handler that writes would then wait for ever.
_holds: dict[_Identity, _Hold] = {}
_open_descriptors: set[int] = set()
_process = object()
"""Another one in each process: cheaper to ask than its number."""


def _forget_after_fork() -> None:
    """A child owns none of its parent's locks: drop the copies of their descriptors without unlocking."""
    global _process
    _process = object()
    for descriptor in _open_descriptors:
        try:
            os.close(descriptor)
        except OSError:
            pass
    _open_descriptors.clear()
    _holds.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class StoreMutex:
    """The lock of one store, as a context manager. Use it through `store_mutex`."""

    __slots__ = ("_deadline", "_held", "_process", "_root", "meanwhile", "timeout")

    def __init__(self, root: str, timeout: float, meanwhile: Callable[[], None] | None) -> None:
        self._root, self.timeout, self.meanwhile = root, timeout, meanwhile
        self._deadline, self._process = 0.0, _process
        self._held: list[_Claim] = []

    def time_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        self._deadline, self._process = time.monotonic() + self.timeout, _process
        try:
            while True:
                surroundings = _surroundings_of(self._root)
                for directory in (*surroundings.stores(), self._root):
                    _acquire(self._held, directory, self)
                if self._held[-1].identity == surroundings.identity:
                    return self
                self._release_all()  # the path leads elsewhere now, perhaps into another store
                _surroundings.pop(self._root, None)
        except BaseException:
            self._release_all()
            raise

    @property
    def root_descriptor(self) -> int | None:
        """The open root, where that is what this mutex locked; lent, because giving back the lock closes it."""
        descriptor = self._held[-1].descriptor
        return descriptor if native_lock.LOCKS_DIRECTORIES and descriptor >= 0 else None

    def __exit__(self, *_: object) -> None:
        self._release_all()

    def __del__(self) -> None:
        if getattr(self, "_held", None):  # a signal handler raised on the way into __exit__, or out of it
            self._release_all()

    def _release_all(self) -> None:
        # A fork inside the block leaves the child without the locks, and without the right to release them.
        if self._process is _process:
            while self._held:
                _release(self._held)


def store_mutex(
    root: str | os.PathLike[str], *, timeout: float = DEFAULT_TIMEOUT, meanwhile: Callable[[], None] | None = None
) -> StoreMutex:
    """Hold the lock of the store at `root`, an existing directory: `with store_mutex(root): …`.

    `LockTimeout` after `timeout` seconds, naming the holder where the system tells it. `meanwhile` is called
    where another process has it, before we wait in turn.
    """
    return StoreMutex(os.fspath(root), timeout, meanwhile)


# ------------------------------------------------------------------------------------------------ which directories


class _Surroundings:
    """What lies above the directory that a path leads to, and what of it is a store: asked at every write, cheaply.

    The first look is strict: failing to look is not a no, it would leave an outer lock untaken. Later ones only have
    to notice a stamp that has come since; what was a store at first is taken for one ever after.
    """

    __slots__ = ("_above", "identity")

    def __init__(self, root: str) -> None:
        status = os.stat(root)
        self.identity = (status.st_dev, status.st_ino)
        self._above: list[tuple[str, str, bool]] = []
        path = os.path.realpath(root)
        while (parent := os.path.dirname(path)) != path:
            stamp = os.path.join(parent, STAMP_KEY)
            self._above.insert(0, (parent, stamp, _is_there(stamp)))
            path = parent

    def stores(self) -> list[str]:
        """The stores around this one, outermost first: one order for everybody, so no deadlock."""
        return [folder for folder, stamp, was_store in self._above if was_store or os.access(stamp, os.F_OK)]


_surroundings: dict[str, _Surroundings] = {}


def _surroundings_of(root: str) -> _Surroundings:
    known = _surroundings.get(root)
    if known is None:
        try:
            known = _surroundings[root] = _Surroundings(root)
        except OSError as error:
            raise StorageIOError(f"cannot lock {root}: {error.strerror}", errno=error.errno) from error
    return known


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


# ------------------------------------------------------------------------------------------------ one directory


def _acquire(held: list[_Claim], directory: str, mutex: StoreMutex) -> None:
    """Lock `directory` and add the claim to `held`.

    A signal handler may raise, or enter the mutex itself, at any call. So the claim is in `held` before there is
    anything to release, and nobody is taken to be inside before the kernel said so.
    """
    while True:
        claim = _Claim()
        held.append(claim)
        descriptor, identity = _open_lock(directory)
        claim.identity = identity
        claim.hold = hold = _wait_for_turn(directory, descriptor, identity, mutex)
        if hold.is_locked:  # entered again by the same thread
            _close(descriptor)
            return
        _lock(descriptor, directory, identity, mutex)
        claim.descriptor = descriptor
        hold.is_locked = True
        if _identity_of(directory) == identity:
            return
        _release(held)  # the directory was replaced while we waited: lock the one that is there now


def _release(held: list[_Claim]) -> None:
    """Give back the last of `held`."""
    claim = held[-1]
    del held[-1]
    hold, descriptor = claim.hold, claim.descriptor
    if hold is None:
        return
    try:
        if descriptor >= 0:
            hold.is_locked = False
            native_lock.unlock(descriptor)  # explicit: a forked child may still hold a copy of the descriptor
    finally:
        try:
            if descriptor >= 0:
                _close(descriptor)
        finally:
            hold.turn.release()


def _wait_for_turn(directory: str, descriptor: int, identity: _Identity, mutex: StoreMutex) -> _Hold:
    hold = _holds.get(identity) or _holds.setdefault(identity, _Hold())
    is_ours = False
    try:
        is_ours = hold.turn.acquire(timeout=mutex.time_left())
    finally:  # also when a signal handler raises while we wait
        if not is_ours:
            _close(descriptor)
    if not is_ours:
        raise _timeout(directory, mutex.timeout, "another thread of this process")
    return hold


def _open_lock(directory: str) -> tuple[int, _Identity]:
    try:
        if native_lock.LOCKS_DIRECTORIES:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                status = os.fstat(descriptor)
            except OSError:
                os.close(descriptor)
                raise
        else:
            status = os.stat(directory)
            descriptor = _open_lock_file(f"{status.st_dev:x}-{status.st_ino:x}.lock")
    except OSError as error:
        raise StorageIOError(f"cannot lock {directory}: {error.strerror}", errno=error.errno) from error
    _open_descriptors.add(descriptor)
    return descriptor, (status.st_dev, status.st_ino)


def _open_lock_file(name: str) -> int:
    """Where a directory cannot be locked: a file of this user's state, never deleted."""
    from agentm_kernel.files.root import make_private_folder

    folder = os.path.join(user_directory("state", os.environ), "locks")
    make_private_folder(folder)
    return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT, 0o600)


def _identity_of(directory: str) -> _Identity | None:
    try:
        status = os.stat(directory)
    except OSError:
        return None  # whatever is wrong, opening it again will tell, and by then we hold nothing
    return status.st_dev, status.st_ino


def _close(descriptor: int) -> None:
    _open_descriptors.discard(descriptor)
    try:
        os.close(descriptor)
    except OSError:
        pass  # it is gone all the same, and nothing was written through it


# ------------------------------------------------------------------------------------------------ the kernel's lock


def _lock(descriptor: int, directory: str, identity: _Identity, mutex: StoreMutex) -> None:
    """Lock `descriptor`, or close it and raise."""
    try:
        if native_lock.try_lock(descriptor):
            return
        if mutex.meanwhile is not None:
            mutex.meanwhile()
            if native_lock.try_lock(descriptor):
                return
        if not mutex.time_left():
            raise _timeout(directory, mutex.timeout, native_lock.holder_of(identity))
    except OSError as error:
        _close(descriptor)
        raise _cannot_lock(directory, error) from error
    except BaseException:
        _close(descriptor)
        raise
    waiter = _Waiter(descriptor)
    if not waiter.wait(mutex.time_left()):
        if waiter.error is not None:
            raise _cannot_lock(directory, waiter.error) from waiter.error
        raise _timeout(directory, mutex.timeout, native_lock.holder_of(identity))


def _cannot_lock(directory: str, error: OSError) -> StorageIOError:
    return StorageIOError(
        f"the file system of {directory} cannot lock: {error.strerror}",
        errno=error.errno,
        hint="keep the store on a file system with working locks; agentm does not write without one",
    )


class _Waiter:
    """A thread blocked in the kernel for us: its queue is fair, where polling starves some of 32 writers.

    The system call cannot be cancelled. A waiter that is given up owns the descriptor, and closes it, lock and all,
    when its turn comes.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._state = _thread.allocate_lock()
        self._abandoned = False
        self._locked = False
        self._finished = _thread.allocate_lock()
        self._finished.acquire()
        self.error: OSError | None = None

    def run(self) -> None:
        error = None
        try:
            native_lock.wait_for_lock(self._descriptor)
        except OSError as failure:
            error = failure
        with self._state:
            self.error = error
            self._locked = error is None
            if self._abandoned or error is not None:
                _close(self._descriptor)
        self._finished.release()

    def wait(self, seconds: float) -> bool:
        """Whether the lock is ours. Otherwise the descriptor is no longer the caller's."""
        try:
            _thread.start_new_thread(self.run, ())
            self._finished.acquire(timeout=seconds)
            return self._settle()
        except BaseException:  # a signal handler raised, perhaps after the lock had come
            if self._settle():
                _close(self._descriptor)
            raise

    def _settle(self) -> bool:
        """Decide, once, who owns the descriptor: the caller if the lock has come, else this thread."""
        with self._state:
            self._abandoned = self._abandoned or not self._locked
            return not self._abandoned


def _timeout(directory: str, seconds: float, holder: str) -> LockTimeout:
    return LockTimeout(
        f"the store at {directory} was locked by {holder} for {seconds:g} s; nothing was written",
        hint="try again; if that process hangs, end it: its lock goes with it",
    )
