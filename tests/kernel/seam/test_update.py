"""`update`: read, change, write on condition, again if somebody was faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator, update
from agentm_kernel.plugin import (
    BackendLayer,
    ConcurrentModificationError,
    FileStore,
    InvalidContentError,
    StorageIOError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.seam.backend import Absent

NOTE = Locator("note.md")


class Meddled(BackendLayer):
    """A store in which somebody else writes just before each of our first `times` writes."""

    def __init__(self, inner: FileStore, times: int) -> None:
        super().__init__(inner)
        self.times = times
        self.attempts = 0

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        assert if_match is not None, "update never writes without a condition"
        self.attempts += 1
        if self.attempts <= self.times:
            self.inner.write(locator, f"theirs {self.attempts}\n")
        return super().write(locator, content, if_match=if_match)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path)


def append(line: str):
    return lambda text: (text or "") + line


def test_nothing_stored_is_given_as_none_and_created(store: FileStore) -> None:
    seen = []

    def change(text: str | None) -> str:
        seen.append(text)
        return "x"

    assert update(store, NOTE, change) == NOTE
    assert seen == [None]
    assert store.read(NOTE) == "x"


def test_stored_text_is_given_and_replaced(store: FileStore) -> None:
    store.write(NOTE, "one\n")
    update(store, NOTE, append("two\n"))
    assert store.read(NOTE) == "one\ntwo\n"


def test_an_empty_note_is_not_an_absent_one(store: FileStore) -> None:
    store.write(NOTE, "")
    update(store, NOTE, lambda text: repr(text))
    assert store.read(NOTE) == "''"


def test_unchanged_text_is_not_written(store: FileStore) -> None:
    store.write(NOTE, "x")
    before = store.info(NOTE).version
    update(store, NOTE, lambda text: "x")
    assert store.info(NOTE).version == before


@pytest.mark.parametrize("initial", [None, "mine\n"])
def test_an_edit_of_somebody_else_in_between_is_kept(store: FileStore, initial: str | None) -> None:
    if initial is not None:
        store.write(NOTE, initial)
    meddled = Meddled(store, times=3)
    update(meddled, NOTE, append("ours\n"))
    assert store.read(NOTE) == "theirs 3\nours\n"
    assert meddled.attempts == 4


def test_who_loses_for_the_whole_time_allowed_gets_an_error_and_writes_nothing(store: FileStore) -> None:
    meddled = Meddled(store, times=10**9)
    with pytest.raises(ConcurrentModificationError):
        update(meddled, NOTE, append("ours\n"), timeout=0.05)
    assert store.read(NOTE).startswith("theirs")


def test_a_time_limit_of_zero_tries_once(store: FileStore) -> None:
    update(store, NOTE, append("x"), timeout=0)
    meddled = Meddled(store, times=1)
    with pytest.raises(ConcurrentModificationError):
        update(meddled, NOTE, append("ours\n"), timeout=0)
    assert meddled.attempts == 1


def test_who_loses_tries_again_at_once_and_then_with_longer_pauses_up_to_a_twentieth_of_a_second(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("os.urandom", lambda count: b"\xff" * count)
    update(Meddled(store, times=8), NOTE, append("ours\n"))
    assert pauses[0] <= 0.002, "a race is over in a moment"
    assert pauses == sorted(pauses)
    assert pauses[-1] == 0.05


def test_what_cannot_be_read_is_not_taken_for_absent(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_bytes(b"\xff")
    with pytest.raises(InvalidContentError):
        update(store, NOTE, append("x"))
    assert (tmp_path / "note.md").read_bytes() == b"\xff"
    with pytest.raises(StorageIOError):
        update(FileStore(tmp_path / "unmounted"), NOTE, append("x"))


def test_an_error_of_the_caller_s_function_passes_through_and_nothing_is_written(store: FileStore) -> None:
    store.write(NOTE, "x")

    def fail(text: str | None) -> str:
        raise KeyError(text)

    with pytest.raises(KeyError):
        update(store, NOTE, fail)
    assert store.read(NOTE) == "x"


def test_who_says_nothing_about_time_gives_up_after_half_a_minute(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    def overtaken(text: str | None) -> str:
        clock[0] += 1.0
        store.write(NOTE, f"{text}!")
        return "mine"

    with pytest.raises(ConcurrentModificationError):
        update(store, NOTE, overtaken)
    assert clock[0] == 130.0
