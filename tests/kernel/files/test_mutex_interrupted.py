"""What comes in between: a signal handler of the application that raises at any instruction of the mutex, another
folder in the same place, another thread. Nothing is kept, nobody let in.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import mutex, native_lock
from agentm_kernel.plugin import DirectoryLock, LockTimeout, store_mutex

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType
    from typing import Any

pytestmark = pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")

_PLACES = {mutex.__file__, native_lock.__file__}


class Interrupted(Exception):
    """What the handler raises, and the application's main loop catches."""


class _Handler:
    """Raises at the `at`-th instruction of the mutex. What `del` and callbacks raise is lost, as Python has it."""

    def __init__(self, at: int) -> None:
        self.left = at

    def trace(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in _PLACES:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise Interrupted
        return self.trace


def interrupted(at: int, work: Callable[[], None]) -> bool:
    """Whether `work` was still at it then."""
    handler = _Handler(at)
    before = sys.gettrace()
    sys.settrace(handler.trace)
    try:
        work()
    except Interrupted:
        pass
    finally:
        sys.settrace(before)
    return handler.left <= 0


def is_free(root: Path) -> bool:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        return native_lock.try_lock(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", ["once", "again while inside", "in a store inside a store", "replaced"])
def test_after_an_exception_at_any_instruction_the_store_is_free_and_the_next_entry_locks(
    root: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    inner = root / "inner"
    inner.mkdir()
    if way == "in a store inside a store":
        (root / "_meta").mkdir()
        (root / "_meta" / "store.json").write_text("{}")

    looks, is_still_of = list[bool](), mutex._Claim.is_still_of
    monkeypatch.setattr(mutex._Claim, "is_still_of", lambda *of: not (looks and looks.pop()) and is_still_of(*of))

    def enter() -> None:
        looks[:] = [True] if way == "replaced" else []
        with store_mutex(inner):
            if way == "again while inside":
                with store_mutex(inner):
                    pass

    enter()
    at = 1
    while interrupted(at, enter):
        assert is_free(root), f"after instruction {at}"
        assert is_free(inner), f"after instruction {at}"
        with store_mutex(inner):
            assert not is_free(inner), f"after instruction {at} nobody is kept out any more"
            assert is_free(root) is (way != "in a store inside a store")
        at += 1
    assert at > 300, "there were instructions to be interrupted at"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nor_does_the_lock_of_a_directory_stay_behind(root: Path) -> None:
    def enter() -> None:
        with DirectoryLock(str(root), 1.0):
            pass

    at = 1
    while interrupted(at, enter):
        assert is_free(root), f"after instruction {at}"
        at += 1
    assert at > 50, "there were instructions to be interrupted at"


def test_a_forked_child_that_leaves_the_block_of_its_parent_does_not_free_the_directory(root: Path) -> None:
    with DirectoryLock(str(root), 1.0) as lock:
        child = os.fork()
        if child == 0:
            lock.__exit__()
            os._exit(0)
        os.waitpid(child, 0)
        assert not is_free(root)
    assert is_free(root)


def test_the_number_of_a_lock_that_is_let_go_may_be_another_thread_s_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forked child closes the locks of all threads, so that of the other one has to stay known."""
    close = mutex.close_quietly

    def closed_and_taken(number: int) -> None:
        close(number)
        mutex._open_descriptors.add(number)

    before = set(mutex._open_descriptors)
    monkeypatch.setattr(mutex, "close_quietly", closed_and_taken)
    try:
        with store_mutex(root):
            ours = mutex._open_descriptors - before
        assert ours
        assert ours <= mutex._open_descriptors
    finally:
        mutex._open_descriptors.intersection_update(before)


def test_a_directory_that_was_replaced_is_entered_by_the_next_try_of_who_cannot_wait(root: Path) -> None:
    with store_mutex(root):
        pass
    root.rename(root.with_name("old"))
    root.mkdir()
    with pytest.raises(LockTimeout, match="was replaced"):
        store_mutex(root, timeout=0).__enter__()
    with store_mutex(root, timeout=0):
        assert not is_free(root)
