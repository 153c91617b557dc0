"""Which note a person means: never a guess, and never one that only looks the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from clones import AUTHORS, OCCASION

from agentm_git.backend import GitStore
from agentm_git.naming import find_note
from agentm_git.setup import make_clone
from agentm_kernel import Locator
from agentm_kernel.errors import NotFoundError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

HERE = (
    "plan.md",
    "plans/plan.md",
    "plans/other.md",
    "projects/Widgets/use-sqlite.md",
    "readme",
    "_meta/conflicts/db.md/kept-1a2b3c4d5e6f.md",
    "facts/port-mapping.md",
    *(f"many/n{number}.md" for number in range(9)),
)
GONE = ("old/plan.md", "old/gone.md", "older/gone-too.md", "db.md", "facts/port.md")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    made = GitStore(str(tmp_path_factory.mktemp("named") / "clone"))
    make_clone(made.describe(), made.settings, os.environ)
    for key in (*HERE, *GONE):
        made.write(Locator(key), f"{key}\n")
    made.commit("all", AUTHORS, OCCASION)
    for key in GONE:
        made.delete(Locator(key))
    made.commit("some", AUTHORS, OCCASION)
    return made


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("plan.md", "plan.md"),
        ("plan", "plan.md"),
        ("plans/plan", "plans/plan.md"),
        ("other", "plans/other.md"),
        ("widgets/USE-sqlite", "projects/Widgets/use-sqlite.md"),
        ("sqlite", "projects/Widgets/use-sqlite.md"),
        ("readme", "readme"),
        ("old/plan.md", "old/plan.md"),
        ("old/plan", "old/plan.md"),
        ("gone", "old/gone.md"),
        ("gone-t", "older/gone-too.md"),
        ("db.md", "db.md"),  # and not the version that was kept of it
        ("db", "db.md"),
        ("port", "facts/port.md"),  # and not a note that is there and has the name as a part of its own
        ("mapping", "facts/port-mapping.md"),
    ],
)
def test_a_key_beats_the_end_of_a_path_and_that_beats_a_part_of_it(store: GitStore, name: str, key: str) -> None:
    assert find_note(store, name).key == key


def test_several_that_fit_are_listed_and_no_more_than_eight(store: GitStore) -> None:
    with pytest.raises(StorageError) as caught:
        find_note(store, "many/n")
    assert caught.value.message == "'many/n' could be any of: " + ", ".join(f"many/n{number}" for number in range(8))
    with pytest.raises(StorageError, match=r"'old' could be any of: old/gone, old/plan, older/gone-too \(hint"):
        find_note(store, "old")


def test_a_name_that_nothing_has_or_had_is_said(store: GitStore) -> None:
    with pytest.raises(NotFoundError, match="no note and no commit has 'nothing-of-it'"):
        find_note(store, "nothing-of-it")


def test_before_the_first_commit_there_are_the_notes_alone(tmp_path: Path) -> None:
    fresh = GitStore(str(tmp_path / "clone"))
    make_clone(fresh.describe(), fresh.settings, os.environ)
    fresh.write(Locator("plans/note.md"), "one\n")
    assert find_note(fresh, "note").key == "plans/note.md"
    with pytest.raises(NotFoundError):
        find_note(fresh, "other")
