"""The store's mutex: one holder per directory, whoever asks by whatever path, and nobody is ever displaced."""

from __future__ import annotations

import _thread
import errno
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import filelock
import pytest

from agentm_kernel.files import mutex, native_lock
from agentm_kernel.files.tree import identity_of
from agentm_kernel.plugin import LockTimeout, StorageIOError, store_mutex
from agentm_kernel.seam.backend import STAMP_KEY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kernel.files.conftest import Holder

    Hold = Callable[..., Holder]

pytestmark = pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")

LONG = 30.0
"""A limit that only a hang reaches."""
SHORT = 0.1


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    root.mkdir()
    return root


def is_free(root: str | os.PathLike[str]) -> bool:
    """Whether another process could enter now: a descriptor of our own is as foreign to the kernel as theirs."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        return native_lock.try_lock(descriptor)
    finally:
        os.close(descriptor)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


# ------------------------------------------------------------------------------------------------ holding


def test_the_lock_is_held_inside_the_block_and_free_after_it(store: Path) -> None:
    with store_mutex(store):
        assert not is_free(store)
    assert is_free(store)


def test_the_block_lends_the_very_descriptor_that_is_locked(store: Path) -> None:
    with store_mutex(store) as outer:
        assert outer.root is not None
        descriptor, _ = outer.root
        assert os.path.samestat(os.fstat(descriptor), store.stat())
        with store_mutex(store) as inner:
            assert inner.root is None
        assert os.path.samestat(os.fstat(descriptor), store.stat())
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_a_waiter_whose_time_is_up_leaves_no_thread_behind(store: Path, hold: Hold) -> None:
    hold(store)
    before = _thread._count()
    with pytest.raises(LockTimeout), store_mutex(store, timeout=0):
        pass
    assert _thread._count() <= before


def test_an_exception_inside_the_block_releases_the_lock(store: Path) -> None:
    with pytest.raises(KeyError), store_mutex(store):
        raise KeyError
    assert is_free(store)


def test_nothing_is_written_into_the_store(store: Path) -> None:
    with store_mutex(store):
        assert list(store.iterdir()) == []


def test_no_descriptor_stays_open(store: Path) -> None:
    before = open_descriptors()
    for _ in range(3):
        with store_mutex(store), store_mutex(store):
            pass
    assert open_descriptors() <= before


def test_no_signal_handler_is_installed(store: Path) -> None:
    numbers = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    before = {number: signal.getsignal(number) for number in numbers}
    with store_mutex(store):
        assert {number: signal.getsignal(number) for number in numbers} == before


def test_a_root_that_is_missing_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageIOError) as caught, store_mutex(tmp_path / "absent"):
        pass
    assert caught.value.errno == errno.ENOENT
    assert not (tmp_path / "absent").exists()


def test_a_root_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageIOError), store_mutex(tmp_path / "file"):
        pass


def test_a_file_system_that_cannot_lock_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = open_descriptors()
    monkeypatch.setattr(native_lock, "try_lock", refuse)
    with pytest.raises(StorageIOError, match="cannot lock") as caught, store_mutex(store):
        pass
    assert caught.value.errno == errno.ENOLCK
    assert "does not write without" in (caught.value.hint or "")
    assert open_descriptors() <= before


# ------------------------------------------------------------------------------------------------ other processes


def test_another_process_is_kept_out_until_the_holder_leaves(store: Path, hold: Hold) -> None:
    holder = hold(store)
    with pytest.raises(LockTimeout), store_mutex(store, timeout=SHORT):
        pass
    holder.release()
    with store_mutex(store, timeout=SHORT):
        pass


def test_a_wait_that_fails_lets_nobody_in(store: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    hold(store)
    monkeypatch.setattr(native_lock, "wait_for_lock", fail)
    with pytest.raises(StorageIOError, match="cannot lock") as caught, store_mutex(store, timeout=LONG):
        pass
    assert caught.value.errno == errno.ENOLCK


def test_the_first_descriptor_is_one_like_any_other(store: Path) -> None:
    """It is free where standard input was closed, and is not kept then either."""
    code = """
import os, sys
from agentm_kernel.files.mutex import store_mutex
os.close(0)
with store_mutex(sys.argv[1]):
    os.fstat(0)
try:
    os.fstat(0)
except OSError:
    print("closed")
"""
    done = subprocess.run([sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=False)
    assert done.stdout == "closed\n", done


def test_a_waiter_enters_when_the_holder_leaves(store: Path, hold: Hold) -> None:
    holder = hold(store)
    threading.Timer(0.1, holder.tell).start()
    with store_mutex(store, timeout=LONG):
        assert not is_free(store)


def test_a_waiter_with_less_than_a_second_left_waits_for_that_long_too(store: Path, hold: Hold) -> None:
    holder = hold(store)
    threading.Timer(0.05, holder.tell).start()
    with store_mutex(store, timeout=0.9):
        assert not is_free(store)


def test_the_time_out_says_who_holds_the_lock_and_that_nothing_was_written(store: Path, hold: Hold) -> None:
    holder = hold(store)
    with pytest.raises(LockTimeout, match="nothing was written") as caught, store_mutex(store, timeout=SHORT):
        pass
    if os.path.exists("/proc/locks"):
        assert f"process {holder.pid} " in str(caught.value)
    assert caught.value.hint


def test_a_time_limit_of_zero_asks_once(store: Path, hold: Hold) -> None:
    holder = hold(store)
    with pytest.raises(LockTimeout), store_mutex(store, timeout=0):
        pass
    holder.release()
    with store_mutex(store, timeout=0):
        pass


def test_a_killed_holder_leaves_the_lock_free(store: Path, hold: Hold) -> None:
    holder = hold(store)
    holder.kill()
    with store_mutex(store, timeout=LONG):
        pass


def test_a_paused_holder_is_not_displaced(store: Path, hold: Hold) -> None:
    holder = hold(store)
    holder.pause()
    with pytest.raises(LockTimeout), store_mutex(store, timeout=0.3):
        pass
    holder.resume()
    assert not is_free(store)
    holder.release()
    assert eventually(lambda: is_free(store))  # the thread of the waiter that gave up has it for an instant


def test_a_waiter_that_gave_up_leaves_neither_a_lock_nor_a_descriptor(store: Path, hold: Hold) -> None:
    before = open_descriptors()
    holder = hold(store)
    for _ in range(3):
        with pytest.raises(LockTimeout), store_mutex(store, timeout=0.02):
            pass
    holder.end()
    with store_mutex(store, timeout=LONG):
        pass
    assert eventually(lambda: open_descriptors() <= before)
    assert is_free(store)


def test_filelock_on_the_directory_excludes_us_and_we_exclude_it(store: Path) -> None:
    descriptor = os.open(store, os.O_RDONLY)
    try:
        with store_mutex(store):
            assert not filelock.lock_descriptor(descriptor, blocking=False)
        assert filelock.lock_descriptor(descriptor, blocking=False)
        with pytest.raises(LockTimeout), store_mutex(store, timeout=SHORT):
            pass
        filelock.unlock_descriptor(descriptor)
        with store_mutex(store, timeout=SHORT):
            pass
    finally:
        os.close(descriptor)


def test_whoever_waited_for_a_directory_that_was_replaced_locks_the_new_one(store: Path, hold: Hold) -> None:
    holder = hold(store)

    def replace() -> None:
        store.rename(store.with_name("old"))
        store.mkdir()
        holder.tell()

    threading.Timer(0.1, replace).start()
    with store_mutex(store, timeout=LONG):
        assert not is_free(store)
        assert is_free(store.with_name("old"))


@pytest.mark.parametrize("in_vain", ["is_still_of", "identity_of", "identity"])
def test_a_directory_that_is_replaced_all_the_time_is_given_up(
    store: Path, monkeypatch: pytest.MonkeyPatch, in_vain: str
) -> None:
    if in_vain == "is_still_of":
        monkeypatch.setattr(mutex._Claim, "is_still_of", lambda *_: False)
    elif in_vain == "identity":  # what is above it is looked at just before it is replaced, each time
        monkeypatch.setattr(mutex._Above, "identity", property(lambda _: (0, 0), lambda *_: None))
    else:
        numbers = itertools.count()
        monkeypatch.setattr(mutex, "identity_of", lambda _: (0, next(numbers)))
    with pytest.raises(LockTimeout, match="was replaced all the time for 0.1 s; nothing was written"):
        store_mutex(store, timeout=SHORT).__enter__()
    assert is_free(store)


def test_whoever_waited_for_a_directory_that_vanished_gets_an_error(store: Path, hold: Hold) -> None:
    holder = hold(store)

    def remove() -> None:
        store.rmdir()
        holder.tell()

    threading.Timer(0.1, remove).start()
    with pytest.raises(StorageIOError) as caught, store_mutex(store, timeout=LONG):
        pass
    assert caught.value.errno == errno.ENOENT


# ------------------------------------------------------------------------------------------------ one lock per store


@pytest.mark.parametrize("spelling", ["store/", "./store", "other/../store", "link", "link/", "store/."])
def test_every_path_to_a_store_reaches_one_lock(
    store: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    (store.parent / "other").mkdir()
    (store.parent / "link").symlink_to("store")
    monkeypatch.chdir(store.parent)
    hold(store)
    with pytest.raises(LockTimeout), store_mutex(spelling, timeout=SHORT):
        pass


def test_another_home_and_another_cache_share_the_lock(
    store: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(store)
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(store.parent / variable))
    with pytest.raises(LockTimeout), store_mutex(store, timeout=SHORT):
        pass


def test_stores_side_by_side_do_not_exclude_each_other(store: Path, hold: Hold) -> None:
    neighbour = store.with_name("neighbour")
    neighbour.mkdir()
    hold(neighbour)
    with store_mutex(store, timeout=SHORT):
        pass


def stamp(root: Path) -> None:
    (root / "_meta").mkdir()
    (root / "_meta" / "store.json").write_text("{}")


def test_a_store_inside_a_store_takes_both_locks(store: Path) -> None:
    stamp(store)
    inner = store / "projects" / "inner"
    inner.mkdir(parents=True)
    with store_mutex(inner):
        assert not is_free(store)
        assert not is_free(inner)
        assert is_free(store / "projects")
    assert is_free(store)
    assert is_free(inner)


def test_a_store_inside_a_held_store_waits_and_lets_go_of_nothing_it_did_not_get(store: Path, hold: Hold) -> None:
    stamp(store)
    inner = store / "inner"
    inner.mkdir()
    hold(store)
    with pytest.raises(LockTimeout), store_mutex(inner, timeout=SHORT):
        pass
    assert is_free(inner)


def test_an_inner_lock_that_cannot_be_had_gives_the_outer_one_back(store: Path) -> None:
    stamp(store)
    inner = store / "inner"
    inner.mkdir()
    descriptor = os.open(inner, os.O_RDONLY)
    try:
        assert native_lock.try_lock(descriptor)
        with pytest.raises(LockTimeout), store_mutex(inner, timeout=SHORT):
            pass
        assert is_free(store)
    finally:
        os.close(descriptor)


def test_the_stores_around_a_directory_are_locked_from_the_outermost_inwards(store: Path) -> None:
    """Two who enter the same stores in another order would wait for each other."""
    inner = store / "a" / "b" / "c"
    inner.mkdir(parents=True)
    for folder in (store, store / "a", store / "a" / "b"):
        (folder / STAMP_KEY).parent.mkdir()
        (folder / STAMP_KEY).touch()
    with store_mutex(inner) as entered:
        held = [claim.identity for claim in entered._held]
    assert held == [identity_of(os.stat(folder)) for folder in (store, store / "a", store / "a" / "b", inner)]


def test_a_folder_without_a_stamp_is_not_a_store_around_another(store: Path) -> None:
    inner = store / "inner"
    inner.mkdir()
    with store_mutex(inner):
        assert is_free(store)


def test_a_stamp_that_comes_later_counts_a_moment_after(store: Path) -> None:
    inner = store / "inner"
    inner.mkdir()
    with store_mutex(inner):
        pass
    stamp(store)
    time.sleep(0.03)
    with store_mutex(inner):
        assert not is_free(store)


# ------------------------------------------------------------------------------------------------ threads


def test_the_lock_is_re_entrant_in_a_thread_and_the_inner_exit_keeps_it(store: Path) -> None:
    with store_mutex(store):
        with store_mutex(store, timeout=0):
            pass
        assert not is_free(store)
    assert is_free(store)


def test_another_thread_is_kept_out_and_told_so(store: Path) -> None:
    caught: list[LockTimeout] = []

    def intrude() -> None:
        try:
            with store_mutex(store, timeout=SHORT):
                pass
        except LockTimeout as error:
            caught.append(error)

    before = open_descriptors()
    with store_mutex(store):
        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join(LONG)
    assert "another thread of this process" in str(caught[0])
    assert eventually(lambda: open_descriptors() <= before)


def test_eight_threads_are_never_inside_together(store: Path) -> None:
    inside, seen = 0, []

    def work() -> None:
        nonlocal inside
        for _ in range(20):
            with store_mutex(store, timeout=LONG):
                inside += 1
                time.sleep(0)
                seen.append(inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert seen == [1] * 160


# ------------------------------------------------------------------------------------------------ fork

_FORK = """
import os, sys
from agentm_kernel.plugin import LockTimeout, store_mutex

root = sys.argv[1]
with store_mutex(root):
    child = os.fork()
    if child == 0:
        try:
            with store_mutex(root, timeout=0.2):
                os._exit(1)
        except LockTimeout:
            pass
        sys.exit(0)  # leaves the inherited block as well: that must not free the parent's lock
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child believed it held the lock"
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


def test_a_forked_child_holds_nothing_and_frees_nothing(store: Path, hold: Hold) -> None:
    parent = hold(store, _FORK)
    assert not is_free(store)
    parent.release()
    assert is_free(store)


_OUTLIVED = """
import os, sys
from agentm_kernel.plugin import store_mutex

with store_mutex(sys.argv[1]):
    if os.fork() == 0:
        sys.stdin.readline()
        os._exit(0)
    print("held", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_child_that_outlives_a_killed_holder_does_not_keep_the_lock(store: Path, hold: Hold) -> None:
    hold(store, _OUTLIVED)
    assert eventually(lambda: is_free(store))


# ------------------------------------------------------------------------------------------------ signals


class Interrupted(Exception):
    pass


# These tests take the alarm for themselves, which is the time limit of all others.
with_a_thread_as_limit = pytest.mark.timeout(method="thread")


@pytest.fixture
def on_alarm() -> Callable[[Callable[[], None]], None]:
    """Set what SIGALRM does, until the test ends."""
    previous = signal.getsignal(signal.SIGALRM)

    def set_handler(action: Callable[[], None]) -> None:
        signal.signal(signal.SIGALRM, lambda number, frame: action())

    yield set_handler
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


@with_a_thread_as_limit
def test_a_handler_that_raises_in_a_waiter_leaves_nothing_locked(store: Path, hold: Hold, on_alarm) -> None:
    def interrupt() -> None:
        raise Interrupted

    before = open_descriptors()
    holder = hold(store)
    on_alarm(interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(Interrupted), store_mutex(store, timeout=LONG):
        pass
    holder.end()
    assert eventually(lambda: is_free(store))
    assert eventually(lambda: open_descriptors() <= before)


@with_a_thread_as_limit
def test_a_handler_that_raises_after_the_lock_came_leaves_nothing_locked(store: Path, hold: Hold, on_alarm) -> None:
    holder = hold(store)

    def interrupt_later() -> None:
        holder.release()  # the helper thread gets the lock while this handler still runs
        assert eventually(lambda: not is_free(store))
        raise Interrupted

    on_alarm(interrupt_later)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(Interrupted), store_mutex(store, timeout=LONG):
        pass
    assert eventually(lambda: is_free(store)), "the helper may have been about to say that it has the lock"
    with store_mutex(store, timeout=SHORT):
        pass


@with_a_thread_as_limit
def test_a_handler_may_enter_the_mutex_that_it_interrupted(store: Path, on_alarm) -> None:
    entered = threading.Event()

    def enter() -> None:
        with store_mutex(store, timeout=LONG):
            entered.set()

    on_alarm(enter)
    with store_mutex(store):
        signal.raise_signal(signal.SIGALRM)
        assert entered.is_set()
        assert not is_free(store)
    assert is_free(store)


# ------------------------------------------------------------------------------------------------ the holder's name


def test_the_holder_of_a_free_lock_is_not_made_up(store: Path) -> None:
    status = store.stat()
    assert native_lock.holder_of((status.st_dev, status.st_ino)) == "another process"


def test_the_mutex_imports_nothing_that_a_hook_cannot_afford() -> None:
    code = "import sys; import agentm_kernel.files.mutex as m; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True).stdout.split())
    assert mutex.__name__ in loaded
    assert not loaded & {"filelock", "platformdirs", "threading", "typing", "dataclasses", "pathlib", "re"}
