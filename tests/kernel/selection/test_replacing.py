"""What a write replaces is told before it is replaced, exactly, and only then."""

from __future__ import annotations

from functools import partial

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.errors import ConcurrentModificationError, NotFoundError
from agentm_kernel.plugin import BackendLayer, FileStore
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update
from agentm_kernel.selection.replacing import ReplacementTelling

NOTE = Locator("a.md")


class Told(list):
    """What was told, with what the store held at that moment."""

    def __init__(self, store):
        super().__init__()
        self._store = store

    def __call__(self, locator, old, new):
        held = self._store.read(locator) if self._store.exists(locator) else None
        self.append((old, new, held))


@pytest.fixture
def memory():
    return MemoryBackend()


@pytest.fixture
def told(memory):
    return Told(memory)


@pytest.fixture
def store(memory, told):
    return ReplacementTelling(memory, told)


def test_a_new_note_is_told_once_it_is_there(store, told):
    store.write(NOTE, "one")
    store.write(Locator("b.md"), "two", if_match=ABSENT)

    assert told == [(None, "one", "one"), (None, "two", "two")]


def test_a_version_is_told_before_it_is_replaced(store, told):
    store.write(NOTE, "one")
    told.clear()

    store.write(NOTE, "two")
    store.write(NOTE, "three", if_match=content_hash("two"))
    update(store, NOTE, lambda text: text + "!")
    store.delete(NOTE)

    assert told == [
        ("one", "two", "one"),
        ("two", "three", "two"),
        ("three", "three!", "three"),
        ("three!", None, "three!"),
    ]


def test_writing_the_same_again_replaces_nothing(store, told):
    store.write(NOTE, "one")
    told.clear()

    store.write(NOTE, "one")

    assert told == []


def test_what_is_refused_is_not_told(store, told, memory):
    store.write(NOTE, "one")
    told.clear()

    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "two", if_match=content_hash("other"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "two", if_match=ABSENT)
    with pytest.raises(ConcurrentModificationError):
        store.write(Locator("b.md"), "two", if_match=content_hash("other"))
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("other"))
    with pytest.raises(NotFoundError):
        store.delete(Locator("b.md"))

    assert told == []
    assert memory.read(NOTE) == "one"


def test_what_is_no_text_is_not_told_and_replaced_only_where_the_condition_holds(tmp_path, told):
    store = ReplacementTelling(FileStore(tmp_path), told)
    for change in (partial(store.write, NOTE, "ours"), partial(store.delete, NOTE)):
        (tmp_path / NOTE.key).write_bytes(b"\xff")
        with pytest.raises(ConcurrentModificationError):
            change(if_match=content_hash("other"))
        assert (tmp_path / NOTE.key).read_bytes() == b"\xff"
        change(if_match=content_hash(b"\xff"))
    assert told == []
    assert not store.exists(NOTE)


@pytest.mark.parametrize("delete", [False, True])
def test_somebody_who_writes_in_between_is_told_too(memory, delete):
    """Between our look and our write another version comes: that one is replaced, so that one is told."""
    versions = []

    def tell(locator, old, new):
        versions.append(old)
        if len(versions) < 3:
            memory.write(NOTE, f"theirs {len(versions)}")

    memory.write(NOTE, "one")
    store = ReplacementTelling(memory, tell)
    if delete:
        store.delete(NOTE)
    else:
        store.write(NOTE, "ours")

    assert versions == ["one", "theirs 1", "theirs 2"]
    assert memory.exists(NOTE) is not delete


def test_a_new_note_that_somebody_else_makes_first_is_replaced_and_told(memory):
    class Raced(BackendLayer):
        def write(self, locator, content, *, if_match=None):
            if not memory.exists(NOTE):
                memory.write(NOTE, "theirs")
            return super().write(locator, content, if_match=if_match)

    versions = []
    ReplacementTelling(Raced(memory), lambda _, old, new: versions.append((old, new))).write(NOTE, "ours")

    assert versions == [("theirs", "ours")]
    assert memory.read(NOTE) == "ours"


def test_what_was_read_is_not_read_again(memory, monkeypatch):
    store = ReplacementTelling(memory, lambda *_: None)
    store.write(NOTE, "one")
    text = store.read(NOTE)
    monkeypatch.setattr(memory, "read", lambda _: pytest.fail("it was read twice"))

    store.write(NOTE, "two", if_match=content_hash(text))


def test_what_was_read_of_another_note_is_not_taken_for_this_one(store, told, memory):
    other = Locator("b.md")
    memory.write(NOTE, "one")
    memory.write(other, "two")
    store.read(NOTE)
    with pytest.raises(ConcurrentModificationError):
        store.write(other, "three", if_match=content_hash("one"))
    assert told == []


def test_what_was_read_before_somebody_else_wrote_is_not_taken_for_what_is_there(store, told, memory):
    memory.write(NOTE, "one")
    store.read(NOTE)
    memory.write(NOTE, "two")
    store.write(NOTE, "three", if_match=content_hash("two"))
    assert told == [("two", "three", "two")]


def test_a_note_that_others_change_before_every_attempt_is_refused_in_the_end(memory):
    class Contended(BackendLayer):
        def write(self, locator, content, *, if_match=None):
            raise ConcurrentModificationError("somebody was faster")

    memory.write(NOTE, "one")
    with pytest.raises(ConcurrentModificationError):
        ReplacementTelling(Contended(memory), lambda *_: None).write(NOTE, "two")


def test_a_note_that_is_not_there_is_deleted_in_vain_once(memory):
    class Counting(BackendLayer):
        attempts = 0

        def delete(self, locator, *, if_match=None):
            self.attempts += 1
            super().delete(locator, if_match=if_match)

    counting = Counting(memory)
    with pytest.raises(NotFoundError):
        ReplacementTelling(counting, lambda *_: None).delete(NOTE)
    assert counting.attempts == 1
