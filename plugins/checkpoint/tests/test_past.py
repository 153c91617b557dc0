"""Where an entry of the history belongs after its note has moved: to every place that the note has been at since."""

from __future__ import annotations

import json
import time

import pytest

from agentm_checkpoint.history import Changes, History
from agentm_checkpoint.past import Move, Past, read_moves
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import IntegrityError, record_move

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

HERE, BEFORE = "here", "before"


def move(old: str, new: str, moment: int, *, store: str = HERE, into: str = HERE) -> Move:
    fields = {"time": moment, "store": store, "from": old, "to": new, "into": into}
    return Move(Locator("_meta/moves/x.json"), json.dumps(fields))


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    """One note, created and then changed."""
    history = History(str(tmp_path), days=1, megabytes=1)
    history.record("projects/a/x.md", None, "one\n")
    history.record("projects/a/x.md", "one\n", "two\n")
    return history.read()


def later() -> int:
    return int(time.time() * 1000) + 1000


def test_an_entry_follows_renames_and_comes_back_with_the_name(changes: Changes) -> None:
    moves = [move("projects/a", "projects/b", later()), move("projects/b", "projects/c", later() + 1)]
    past = Past(HERE, {HERE: changes}, moves)
    assert len(past.of("projects/c/x.md")) == len(past.of("projects/b/x.md")) == len(past.of("projects/a/x.md")) == 2

    past = Past(HERE, {HERE: changes}, [*moves, move("projects/c", "projects/a", later() + 2)])
    assert len(past.of("projects/a/x.md")) == 2


def test_what_is_written_under_a_name_that_was_left_stays_there(changes: Changes) -> None:
    past = Past(HERE, {HERE: changes}, [move("projects/a", "projects/b", 1)])
    assert (len(past.of("projects/a/x.md")), past.of("projects/b/x.md")) == (2, [])


def test_a_name_that_only_begins_alike_is_another_one(changes: Changes) -> None:
    past = Past(HERE, {HERE: changes}, [move("projects/a/x", "projects/b", later())])
    assert list(past.keys) == ["projects/a/x.md"]


def test_a_note_that_was_kept_apart_does_not_mix_with_the_one_of_its_name(changes: Changes, tmp_path: Path) -> None:
    moment = later()
    moves = [
        move("projects/a/x.md", "projects/b/x-from-a.md", moment),
        move("projects/a", "projects/b", moment),
    ]
    past = Past(HERE, {HERE: changes}, moves)
    assert len(past.of("projects/b/x-from-a.md")) == 2
    assert past.of("projects/b/x.md") == []


def test_a_copy_goes_to_another_store_and_the_note_stays(changes: Changes) -> None:
    moves = [
        move("", "", later(), store=HERE, into=BEFORE),
        move("projects/a/x.md", "projects/a/y.md", later() + 1, store=BEFORE, into=HERE),
        move("", "", later() + 1, store=BEFORE, into=HERE),
        move("projects/a", "projects/b", later() + 2),
    ]
    past = Past(HERE, {HERE: changes, BEFORE: Changes(b"")}, moves)
    assert len(past.of("projects/b/x.md")) == len(past.of("projects/b/y.md")) == 2
    assert len(Past(BEFORE, {HERE: changes, BEFORE: Changes(b"")}, moves).of("projects/a/x.md")) == 2


def test_moves_are_read_in_order_the_single_note_first() -> None:
    store = MemoryBackend()
    record_move(store, Locator("projects/a"), store, Locator("projects/b"), 5)
    record_move(store, Locator("projects/a/x.md"), store, Locator("projects/b/y.md"), 5)
    record_move(store, Locator("projects/z"), store, Locator("projects/a"), 4)
    assert [found.old.key for found in read_moves(store)] == ["projects/z", "projects/a/x.md", "projects/a"]


def test_a_word_that_cannot_be_understood_is_named() -> None:
    store = MemoryBackend()
    store.write(Locator("_meta/moves/1-abc.json"), "{}")
    with pytest.raises(IntegrityError, match="_meta/moves/1-abc.json"):
        read_moves(store)


def test_an_undo_says_what_it_brought_back_and_undoing_it_too(tmp_path: Path) -> None:
    history = History(str(tmp_path), days=1, megabytes=1)
    for old, new in ((None, "one\n"), ("one\n", "two\n"), ("two\n", "one\n"), ("one\n", "two\n")):
        history.record("x.md", old, new)
    past = Past(HERE, {HERE: history.read()}, [])
    created, changed, undone, again = past.of("x.md")
    assert [past.what("x.md", entry) for entry in (created, changed)] == ["created", "changed"]
    assert past.what("x.md", undone) == f"back to {changed.version}"
    assert past.what("x.md", again) == f"back to {undone.version}"
