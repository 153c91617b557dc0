"""The system's own lock: let go once, and its holder named as far as the system tells."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import mutex, native_lock
from agentm_kernel.plugin import store_mutex

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path


def test_a_lock_is_let_go_once_and_by_then_nobody_is_taken_to_be_inside(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise another thread that comes in at once would be forgotten, and wait for itself."""
    inside = []
    unlock = native_lock.unlock
    monkeypatch.setattr(native_lock, "unlock", lambda number: (inside.append(dict(mutex._inside)), unlock(number)))
    with store_mutex(store) as held:
        held.unlock()
        assert inside == [{}]
    assert inside == [{}]


@pytest.mark.parametrize(
    ("line", "holder"),
    [
        ("7: FLOCK  ADVISORY  WRITE 1 08:01:5 0 EOF", "process 1"),
        ("7: FLOCK  ADVISORY  WRITE 812 08:01:5 0 EOF", "process 812"),
        ("7: FLOCK  ADVISORY  WRITE 0 08:01:5 0 EOF", "another process"),
        ("7: FLOCK  ADVISORY  WRITE -1 08:01:5 0 EOF", "another process"),
        ("7: POSIX  ADVISORY  WRITE 812 08:01:5 0 EOF", "another process"),
        ("7: FLOCK  ADVISORY  WRITE 812 08:01:6 0 EOF", "another process"),
        ("7: FLOCK", "another process"),
        ("", "another process"),
    ],
)
def test_the_holder_is_named_as_far_as_the_system_tells(
    line: str, holder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_lock, "open", lambda *_, **__: io.StringIO(f"1: -> x\n{line}\n"), raising=False)
    assert native_lock.holder_of((os.makedev(8, 1), 5)) == holder
