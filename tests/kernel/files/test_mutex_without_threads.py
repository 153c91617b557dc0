"""A container may allow no more threads: whoever waits for a store waits all the same."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import native_lock
from agentm_kernel.plugin import LockTimeout, store_mutex

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not native_lock.LOCKS_DIRECTORIES, reason="needs locks on directories")


@pytest.fixture
def none_left(monkeypatch):
    def start(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", start)


def is_free(root: Path) -> bool:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        return native_lock.try_lock(descriptor)
    finally:
        os.close(descriptor)


def test_a_waiter_gets_the_lock_when_it_is_free(root: Path, hold, none_left) -> None:
    holder = hold(root)
    threading.Timer(0.05, holder.tell).start()

    with store_mutex(root, timeout=30):
        assert not is_free(root)

    assert is_free(root)


def test_a_waiter_gives_up_in_time(root: Path, hold, none_left) -> None:
    hold(root)

    with pytest.raises(LockTimeout), store_mutex(root, timeout=0.1):
        pass

    assert not is_free(root), "the holder has it still"
