"""File stores that are right when alone."""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
import time
from contextlib import contextmanager, suppress

from broken_backends.table import Files, broken, is_large

from agentm_kernel.errors import ConcurrentModificationError, LockTimeout, NotFoundError, StorageError
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash


def _compare(store, locator, if_match):
    """Compare as the contract wants, for backends whose fault is where they do it."""
    try:
        stored = content_hash(store.read(locator))
    except NotFoundError:
        stored = ABSENT
    if isinstance(if_match, str) and stored != if_match:
        raise ConcurrentModificationError(f"'{locator}' was not written: its content is not what was expected")


@broken("update_race", "routing_registry_race", saying="the counter gave", also=("threads",))
class ComparesOutsideTheLock(Files):
    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and self.exists(locator):
            _compare(self, locator, if_match)
            time.sleep(0.002)
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken("create_race", saying="processes were told that they had created")
class LooksBeforeItCreates(Files):
    def write(self, locator, content, *, if_match=None):
        if if_match is ABSENT and not self.exists(locator):
            time.sleep(0.002)
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken("own_keys", saying="the untyped FileExistsError")
class RacesForDirectories(Files):
    def write(self, locator, content, *, if_match=None):
        directory = self.device_path(locator.parent)
        if locator.parts[:1] == ("shared",) and not os.path.isdir(os.path.dirname(directory)):
            time.sleep(0.5)  # long enough for the others to come, on a busy machine too
            os.mkdir(os.path.dirname(directory))
        return super().write(locator, content, if_match=if_match)


@broken("threads", saying="the counter gave")
class ForgetsThreads(Files):
    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and threading.current_thread() is not threading.main_thread():
            _compare(self, locator, if_match)
            time.sleep(0.001)
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken(
    "whole_reads",
    "killed_writer_tears_nothing",
    saying="a reader saw",
    also=("no_space", "hard_link", "mode_is_kept"),
)
class WritesInPlace(Files):
    """Takes the lock, then writes into the file itself, in two halves."""

    def write(self, locator, content, *, if_match=None):
        if (
            not isinstance(content, str)
            or len(content) < 100_000
            or len(content) > 1_000_000
            or not self.exists(locator)
        ):
            return super().write(locator, content, if_match=if_match)
        with store_mutex(self.scratch), open(self.device_path(locator), "w", encoding="utf-8") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            time.sleep(0.02)
            file.write(content[len(content) // 2 :])
        return locator


@contextmanager
def _lock_directory(path, stale_after, timeout):
    """The kind of lock that a killed holder leaves behind and a paused one loses."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            os.mkdir(path)
            break
        except FileExistsError:
            if _age(path) > stale_after:
                _remove(path)
            elif time.monotonic() > deadline:
                raise LockTimeout("the store is locked by somebody") from None
            time.sleep(0.001)
    try:
        yield
    finally:
        _remove(path)


def _age(path):
    try:
        return time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _remove(path):
    with suppress(FileNotFoundError):
        (os.rmdir if os.path.isdir(path) else os.unlink)(path)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _OwnLock(Files):
    """Compares under a lock of its own, beside the store."""

    stale_after = 3600.0
    timeout = 1.0
    pause = 0.01

    def lock_path(self):
        return self.scratch + ".lock"

    def write(self, locator, content, *, if_match=None):
        with _lock_directory(self.lock_path(), self.stale_after, self.timeout):
            if isinstance(if_match, str) and self.exists(locator):
                _compare(self, locator, if_match)
                if_match = None
            if locator.name == "counter.md" or is_large(content):
                time.sleep(self.pause)
            return super().write(locator, content, if_match=if_match)


@broken(
    "killed_writer_blocks_nobody",
    saying="LockTimeout: the store is locked by somebody",
    also=("permission_denied",),
)
class LeavesItsLock(_OwnLock):
    pass


@broken(
    "killed_racer",
    "killed_writer_blocks_nobody",
    saying="StorageError: the store was not closed",
    also=("permission_denied", "no_descriptors"),
)
class DemandsRecovery(Files):
    """Writers sign in and out, and whoever finds the mark of a dead one refuses to go on."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self._writers = scratch + ".writers"
        os.makedirs(self._writers, exist_ok=True)
        mark = os.path.join(self._writers, str(os.getpid()))
        with open(mark, "wb"):
            atexit.register(_remove, mark)

    def write(self, locator, content, *, if_match=None):
        for pid in os.listdir(self._writers):
            if not _is_alive(int(pid)):
                raise StorageError("the store was not closed by its last writer")
        return super().write(locator, content, if_match=if_match)


@broken("paused_writer", saying="increments were acknowledged, and the counter is at", also=("permission_denied",))
class StealsFromThePaused(_OwnLock):
    stale_after = 0.05
    timeout = 20.0
    pause = 0.02

    def write(self, locator, content, *, if_match=None):
        written = super().write(locator, content, if_match=if_match)
        if locator.name == "counter.md":
            time.sleep(2 * self.pause)  # or the other writer never finds the note as it has read it, and gives up
        return written


@broken("many_paths_one_store", saying="the counter gave", also=("permission_denied", "no_descriptors"))
class LocksPerHome(Files):
    def write(self, locator, content, *, if_match=None):
        home = os.environ.get("XDG_RUNTIME_DIR", "")
        path = os.path.join(home if "agentm-conformance-" in home else os.path.dirname(self.scratch), "agentm.lock")
        with open(path, "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if isinstance(if_match, str) and self.exists(locator):
                _compare(self, locator, if_match)
                time.sleep(0.002)
                if_match = None
            return super().write(locator, content, if_match=if_match)


@broken("delete_race", saying="processes were told that they had deleted", also=("deleting",))
class DeletesWhatIsGone(Files):
    def delete(self, locator, *, if_match=None):
        if locator.parts[:1] != ("doomed",):
            super().delete(locator, if_match=if_match)
            return
        found = self.exists(locator)
        time.sleep(0.02)  # long enough for the others, on a busy machine too
        with suppress(NotFoundError):
            super().delete(locator, if_match=if_match)
        if not found:
            raise NotFoundError(f"'{locator}' does not exist")


@broken("delete_against_update", saying="what was deleted, and what is left, gave")
class ComparesBeforeItDeletes(Files):
    def delete(self, locator, *, if_match=None):
        if if_match is not None and locator.name == "counter.md":
            _compare(self, locator, if_match)
            time.sleep(0.003)
            if_match = None
        super().delete(locator, if_match=if_match)


@broken("threads_with_own_notes", saying="by the thread that wrote it gave", also=("threads",))
class SharesOneBuffer(Files):
    def write(self, locator, content, *, if_match=None):
        if locator.parts[:1] == ("threads",):
            self._buffer = content
            time.sleep(0.001)
            content = self._buffer
        return super().write(locator, content, if_match=if_match)


@broken("threads", saying="the counter gave", also=("threads_with_own_notes",))
class ComparesWithAnotherThread(Files):
    """The condition of one thread is taken for that of another."""

    def write(self, locator, content, *, if_match=None):
        if threading.current_thread() is threading.main_thread() or not isinstance(if_match, str):
            return super().write(locator, content, if_match=if_match)
        self._condition = if_match
        time.sleep(0.0005)
        return super().write(locator, content, if_match=self._condition if self.exists(locator) else if_match)
