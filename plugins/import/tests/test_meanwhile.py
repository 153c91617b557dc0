"""Somebody writes while a project goes to another store: what they wrote is still there."""

from __future__ import annotations

import json

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_import.moving.projects import merge_projects, rename_project
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


class Late(MemoryBackend):
    """Somebody who has not heard of it writes to the old name right after it was said that the project has gone."""

    def write(self, locator, content, *, if_match=None):
        done = super().write(locator, content, if_match=if_match)
        if '"moved_to"' in content:
            super().write(locator.parent.child("facts", "late.md"), "late\n")
        return done


def with_project(store, slug):
    store.write(Locator(f"projects/{slug}/_project.json"), json.dumps({"version": 1, "id": slug, "remotes": []}))
    store.write(Locator(f"projects/{slug}/facts/port.md"), f"{slug}\n")
    return store


def test_what_was_written_to_the_old_name_meanwhile_comes_along_and_is_counted():
    store = with_project(Late(), "widgets")
    assert rename_project(store, "widgets", "gadgets").files == 2
    assert store.read(Locator("projects/gadgets/facts/late.md")) == "late\n"
    assert store.read(THERE) == "widgets\n"


class Restless(MemoryBackend):
    """Somebody writes to a note whenever it is about to be removed."""

    changes = 0
    until = 0

    def delete(self, locator, *, if_match=None):
        if locator == HERE and self.changes < self.until:
            self.changes += 1
            super().write(locator, f"{self.changes}\n")
        return super().delete(locator, if_match=if_match)


@pytest.mark.parametrize(("until", "is_moved"), [(9, True), (10, False)])
def test_a_note_that_changes_is_moved_as_it_is_last_and_one_that_always_does_stays(until, is_moved):
    store = with_project(Restless(), "widgets")
    store.until = until
    if is_moved:
        assert rename_project(store, "widgets", "gadgets").files == 1
        assert store.read(THERE) == "9\n"
        return
    with pytest.raises(ConcurrentModificationError, match=f"'{HERE}' changes all the time"):
        rename_project(store, "widgets", "gadgets")
    assert store.read(HERE) == "10\n"


@pytest.mark.parametrize(("number", "name"), [(1, "port-from-widgets.md"), (3, "port-from-widgets-3.md")])
def test_a_file_of_a_name_that_is_taken_gets_the_next_free_one(number, name):
    store = with_project(with_project(MemoryBackend(), "widgets"), "gadgets")
    for taken in ("port-from-widgets.md", "port-from-widgets-2.md")[: number - 1]:
        store.write(THERE.parent.child(taken), "theirs\n")
    merge_projects(store, "widgets", "gadgets")
    assert store.read(THERE) == "gadgets\n"
    assert store.read(THERE.parent.child(name)) == "widgets\n"


@pytest.mark.parametrize("with_state", [True, False])
def test_the_record_of_a_project_stays_and_its_plans_go_with_the_notes_or_by_themselves(move, with_state):
    folder = Locator("projects/widgets")
    others = [
        folder.child(*name.split("/")) for name in ("_harness/PLAN.md", "_harness/old/PLAN.md", "_project.json")
    ]
    for file in others:
        move.source.write(file, "{}")
    kept = Move(move.source, folder, move.target, Locator("projects/gadgets"), with_state=with_state)
    assert sorted(kept.files()) == sorted([HERE, others[1], *([others[0]] if with_state else [])])
    assert kept.goes_to(HERE) == THERE
