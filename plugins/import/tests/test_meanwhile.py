"""Somebody writes while a project goes to another store: what they wrote is still there."""

from __future__ import annotations

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_import.moving.use_store import Move
from agentm_kernel import Locator
from agentm_kernel.plugin import ConcurrentModificationError

HERE, THERE = Locator("projects/widgets/facts/port.md"), Locator("projects/gadgets/facts/port.md")


class Busy(MemoryBackend):
    """Somebody else writes right before the next change."""

    theirs: str | None = None

    def write(self, locator, content, *, if_match=None):
        if self.theirs is not None:
            theirs, self.theirs = self.theirs, None
            super().write(locator, theirs)
        return super().write(locator, content, if_match=if_match)


@pytest.fixture
def move():
    source, target = MemoryBackend(), Busy()
    source.write(HERE, "mine\n")
    return Move(source, Locator("projects/widgets"), target, Locator("projects/gadgets"))


def test_what_somebody_wrote_in_the_new_store_is_not_replaced(move):
    move.target.theirs = "theirs\n"
    with pytest.raises(ConcurrentModificationError):
        move.copy()
    assert move.target.read(THERE) == "theirs\n"


def test_what_somebody_wrote_after_the_copy_stays_in_the_old_store(move):
    copied = move.copy()
    move.source.write(HERE, "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        move.remove(copied)
    assert move.source.read(HERE) == "theirs\n"


def test_what_somebody_wrote_after_the_copy_is_in_the_next_one(move):
    move.copy()
    move.source.write(HERE, "theirs\n")
    move.copy()
    assert move.target.read(THERE) == "theirs\n"


class Written(MemoryBackend):
    """Somebody else writes right after one of the reads: to the note that was read, and a new one beside it."""

    reads_left = 0

    def read(self, locator):
        text = super().read(locator)
        self.reads_left -= 1
        if self.reads_left == 0:
            self.write(locator, "theirs\n")
            self.write(locator.parent.child("new.md"), "new\n")
        return text


@pytest.mark.parametrize("reads", range(1, 5))
@pytest.mark.parametrize("is_there", [False, True])
def test_what_somebody_wrote_while_both_were_compared_is_not_taken_for_copied(reads, is_there):
    source, target = Written(), MemoryBackend()
    source.write(HERE, "mine\n")
    move = Move(source, Locator("projects/widgets"), target, Locator("projects/gadgets"))
    if is_there:  # as the second time that a command copies
        move.copy()
    source.reads_left = reads
    try:
        move.remove(move.copy())
    except ConcurrentModificationError:
        pass  # then it stays in the store before
    texts = {
        store.read(info.locator) for store in (source, target) for info in store.walk(Locator()) if not info.is_dir
    }
    assert {"theirs\n", "new\n"} <= texts or source.reads_left > 0
