"""The steps of one clone, each by itself: what is tried again, what is told, and what is said before it is here."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, git

from agentm_git import clone as clone_module
from agentm_git.backend import GitStore
from agentm_git.setup import make_clone
from agentm_kernel import Locator
from agentm_kernel.errors import (
    ConcurrentModificationError,
    LocatorConflictError,
    StorageIOError,
    StorageSelectionError,
)
from agentm_kernel.plugin import Author, Device, Opening, SyncTrigger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from git_servers import Origin

NOTE = Locator("note.md")


def opened(tmp_path: Path, **options: Any) -> GitStore:
    store = GitStore(str(tmp_path / "clone"), environ=dict(os.environ), **options)
    make_clone(store.describe(), store.settings, os.environ)
    return store


@pytest.fixture
def store(tmp_path: Path) -> GitStore:
    return opened(tmp_path)


# ------------------------------------------------------------------------------------------------ commit


def moved_by_others(store: GitStore, times: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let somebody else move the branch in the moment of so many commits; the pauses between them."""
    pauses: list[float] = []
    real, left = store.clone.public.move, [None] * times

    def move(*given: Any) -> None:
        if left:
            left.pop()
            raise ConcurrentModificationError("moved")
        real(*given)

    monkeypatch.setattr(store.clone.public, "move", move)
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses


def test_a_branch_that_somebody_moves_is_committed_to_again(store: GitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(NOTE, "one\n")
    pauses = moved_by_others(store, 2, monkeypatch)
    assert store.commit("mine", AUTHORS, OCCASION).changed
    assert len(pauses) == 2
    assert pauses[0] == 0.0
    assert pauses[1] <= 0.01


def test_a_branch_that_somebody_moves_all_the_time_is_given_up(
    store: GitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone_module, "_TRIES", 3)
    store.write(NOTE, "one\n")
    moved_by_others(store, 3, monkeypatch)
    with pytest.raises(StorageIOError, match=f"another program keeps moving the branch of {store.describe()}"):
        store.commit("mine", AUTHORS, OCCASION)


def test_a_first_commit_that_was_cut_off_is_made_by_the_next_one(
    store: GitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    store.write(NOTE, "one\n")
    with monkeypatch.context() as patch:
        patch.setattr(store.clone.public, "move", killed)
        with pytest.raises(KeyboardInterrupt):
            store.commit("mine", AUTHORS, OCCASION)
    assert store.commit("again", AUTHORS, OCCASION).note == "1 file"
    assert git(store.describe(), "show", f"main:{NOTE}") == b"one\n"
    assert not store.has_changes()


def test_what_was_staged_and_taken_back_is_no_commit_and_leaves_a_clean_index(store: GitStore) -> None:
    store.write(NOTE, "one\n")
    first = store.commit("first", AUTHORS, OCCASION)
    store.write(NOTE, "two\n")
    git(store.describe(), "add", "-A")
    store.write(NOTE, "one\n")
    again = store.commit("again", AUTHORS, OCCASION)
    assert (again.changed, again.ref, again.note) == (False, first.ref, None)
    assert git(store.describe(), "status", "--porcelain") == b""


def test_a_commit_counts_its_files_and_is_told_by_the_event_that_wanted_it(store: GitStore) -> None:
    store.write(NOTE, "one\n")
    assert store.commit("first", AUTHORS, OCCASION).note == "1 file"
    for number in range(2):
        store.write(Locator(f"{number}.md"), "one\n")
    (done,) = store.sync(SyncTrigger("turn-end"))
    assert done.note == "2 files"
    assert git(store.describe(), "log", "-1", "--format=%s") == b"agentm: turn-end\n"


# ------------------------------------------------------------------------------------------------ pull and push


def test_a_branch_without_a_commit_has_nothing_to_push(tmp_path: Path, origin_by_path: Origin) -> None:
    done = opened(tmp_path, remote=origin_by_path.url).push(OCCASION)
    assert (done.changed, done.ref, done.note) == (False, None, "nothing was committed yet")


def test_an_origin_that_was_asked_is_known_by_when(tmp_path: Path, origin_by_path: Origin) -> None:
    store = opened(tmp_path, remote=origin_by_path.url)
    assert store.clone.pulled_at() is None
    assert not store.pull(OCCASION).changed, "it has nothing yet"
    pulled = store.clone.pulled_at()
    assert pulled is not None
    os.utime(store.clone.private.pulled, (1.0, 1.0))
    store.pull(OCCASION)
    assert (store.clone.pulled_at() or 0.0) > 1.0


def test_a_push_that_meets_others_work_says_what_it_brought_in(tmp_path: Path, origin_by_path: Origin) -> None:
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    fill(origin_by_path, {"a.md": b"a\n", "b.md": b"b\n"})
    store.write(NOTE, "mine\n")
    store.commit("mine", AUTHORS, OCCASION)
    done = store.push(OCCASION)
    assert (done.changed, done.note, done.ref) == (True, "2 files changed", origin_by_path.tip())
    assert store.pull(OCCASION).note is None


def test_a_push_is_tried_again_while_there_is_time_and_says_why_it_was_not_taken(
    tmp_path: Path, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_clone(origin_by_path, str(tmp_path / "clone"), deadline=30.0)
    store.write(NOTE, "mine\n")
    store.commit("mine", AUTHORS, OCCASION)
    real, answers = store.clone.origin.push, ["busy", "busy"]
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(store.clone.origin, "push", lambda *given: answers.pop() if answers else real(*given))
    assert store.push(OCCASION).changed
    assert len(pauses) == 2
    assert pauses[0] == 0.0
    store.write(NOTE, "more\n")
    store.commit("more", AUTHORS, OCCASION)
    monkeypatch.setattr(clone_module, "_WORTH_A_TRY", 31.0)
    answers.append("the branch is locked")
    with pytest.raises(StorageIOError, match="the origin did not take the push for 30 s: the branch is locked"):
        store.push(OCCASION)


def test_what_git_has_comes_in_under_the_stores_mutex_also_when_a_killed_pull_is_finished(
    tmp_path: Path, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    fill(origin_by_path, {"a.md": b"a\n"})
    held: list[bool] = []
    seen: list[bool] = []
    real = store.clone.applier._write_all

    @contextmanager
    def exclusively() -> Iterator[None]:
        held.append(True)
        yield
        held.pop()

    def write_all(*given: Any, is_recovering: bool) -> list[str]:
        seen.append(bool(held))
        if not is_recovering:
            raise KeyboardInterrupt
        return real(*given, is_recovering=is_recovering)

    monkeypatch.setattr(store.clone.folder, "exclusively", exclusively)
    monkeypatch.setattr(store.clone.applier, "_write_all", write_all)
    with pytest.raises(KeyboardInterrupt):
        store.pull(OCCASION)
    held.clear()
    store.pull(OCCASION)
    os.unlink(tmp_path / "clone" / "a.md")
    store.clone.bring_back()
    assert seen == [True, True, True]
    assert store.read(Locator("a.md")) == "a\n"


# ------------------------------------------------------------------------------------------------ before it is here


def test_a_store_whose_clone_is_not_here_says_how_it_comes_and_has_nothing_to_commit(tmp_path: Path) -> None:
    url = "https://example.com/n.git"
    store = GitStore(str(tmp_path / "none"), remote=url, clones_itself=True, read_only=True)
    assert not store.is_here
    assert (store.has_changes(), store.stamp_text()) == (False, None)
    for step, kind in (
        (lambda: store.read(NOTE), StorageIOError),
        (lambda: store.check_usable(read_only=True), StorageSelectionError),
    ):
        with pytest.raises(kind, match=f"the clone of {url} is not on this device yet") as caught:
            step()
        assert "agentm event workspace-open" in (caught.value.hint or "")
    store.check_usable(read_only=False)
    assert not (tmp_path / "none").exists()


def test_the_first_write_brings_what_the_origin_has(tmp_path: Path, origin_by_path: Origin) -> None:
    fill(origin_by_path, {"theirs.md": b"theirs\n"})
    store = GitStore(str(tmp_path / "own"), remote=origin_by_path.url, clones_itself=True, environ=dict(os.environ))
    store.write(NOTE, "mine\n")
    assert store.is_here
    assert store.read(Locator("theirs.md")) == "theirs\n"
    assert store.self_stamping
    assert not opened(tmp_path).self_stamping


def test_what_lies_outside_of_the_wanted_parts_is_not_written(tmp_path: Path) -> None:
    store = opened(tmp_path, sparse=("plans",))
    with pytest.raises(LocatorConflictError, match=r"'note\.md' lies outside of what this device has"):
        store.write(NOTE, "mine\n")
    store.write(Locator("plans/a.md"), "mine\n")


def test_the_operator_is_an_author_where_git_knows_a_name(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    made = GitStore(str(tmp_path / "clone"), environ=environ)
    make_clone(made.describe(), made.settings, environ)
    assert made.operator() is None
    named = GitStore(str(tmp_path / "clone"), environ={**environ, "GIT_AUTHOR_NAME": "Ana"})
    assert named.operator() == Author("Ana", "")


# ------------------------------------------------------------------------------------------------ options


def test_the_origin_of_a_clone_that_is_there_is_found(tmp_path: Path, origin_by_path: Origin) -> None:
    device = Device({"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    root = str(tmp_path / "clone")
    assert GitStore.found_options({"root": root}, device) == {}
    assert GitStore.found_options({}, device) == {}
    opened(tmp_path, remote=origin_by_path.url)
    assert GitStore.found_options({"root": root}, device) == {"remote": origin_by_path.url}
    assert GitStore.found_options({"root": "~/clone"}, device) == {"remote": origin_by_path.url}


def test_a_store_is_made_of_its_options_and_knows_the_state_of_its_device(tmp_path: Path) -> None:
    device = Device({"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    given = {"root": "~/clone", "branch": "notes", "size_limit": 10}
    store = GitStore.create(given, device, Opening(state_dir=str(tmp_path / "state")))
    assert (store.describe(), store.settings.branch, store.size_limit) == (str(tmp_path / "clone"), "notes", 10)
    assert store.state_dir == str(tmp_path / "state")
