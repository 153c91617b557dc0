"""What a killed process left is finished by the next one, at every place where it can be interrupted.

The campaign of `test_kills` hits random places; here each one is hit on purpose.
"""

from __future__ import annotations

import os

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, fsck, git

from agentm_git import applying, public_dir
from agentm_git.public_dir import PublicDir
from agentm_kernel import Locator

NOTE = Locator("note.md")
OTHER = Locator("other.md")


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours may catch it and clean up."""


@pytest.fixture
def team(tmp_path, origin_by_path):
    fill(origin_by_path, {NOTE.key: b"one\n", OTHER.key: b"one\n", "gone.md": b"one\n"})
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    fill(origin_by_path, {NOTE.key: b"two\n", OTHER.key: b"two\n", "new.md": b"new\n"})
    return store, origin_by_path, lambda: open_clone(origin_by_path, str(tmp_path / "clone"))


def die_in(monkeypatch, place, name, *, after=0):
    """Let the `after`-th call of a function be the last thing that the process does."""
    real = getattr(place, name)
    calls = []

    def last(*arguments, **options):
        calls.append(1)
        if len(calls) > after:
            raise Killed
        return real(*arguments, **options)

    monkeypatch.setattr(place, name, last)


def is_sound(store):
    return git(store.describe(), "status", "--porcelain") == b"" and fsck(store.describe()) == ""


PLACES = {
    "before anything is written": (applying.Applier, "_write_all", 0),
    "after one note": (applying.Folder, "replace", 1),
    "after the notes, before the branch": (PublicDir, "move", 1),
    "after the branch, before the index": (applying.Applier, "reset_index", 0),
    "after the index": (PublicDir, "publish_index", 0),
    "at the very end": (applying.os, "unlink", 0),
}


@pytest.mark.parametrize("where", PLACES)
def test_a_pull_that_was_interrupted_is_finished(team, monkeypatch, where):
    store, origin, again = team
    place, name, after = PLACES[where]
    with monkeypatch.context() as patch:
        die_in(patch, place, name, after=after)
        with pytest.raises(Killed):
            store.pull(OCCASION)
    next_one = again()
    next_one.pull(OCCASION)
    assert [next_one.read(key) for key in (NOTE, OTHER, Locator("new.md"))] == ["two\n", "two\n", "new\n"]
    assert git(next_one.describe(), "rev-parse", "main").decode().strip() == origin.tip()
    assert not next_one.has_changes()
    assert is_sound(next_one)
    assert not os.path.exists(next_one.clone.private.journal)


def test_an_edit_between_the_crash_and_the_recovery_stays_and_so_does_what_it_did_not_know(team, monkeypatch):
    store, origin, again = team
    with monkeypatch.context() as patch:
        die_in(patch, applying.Folder, "replace", after=1)
        with pytest.raises(Killed):
            store.pull(OCCASION)
    next_one = again()
    next_one.write(OTHER, "edited after the crash\n")
    next_one.commit("edit", AUTHORS, OCCASION)
    next_one.push(OCCASION)
    assert origin.files()[OTHER.key] == b"edited after the crash\n"
    kept = [text for path, text in origin.files().items() if path.startswith("_meta/conflicts/other.md/")]
    assert kept == [b"two\n"]


def test_a_commit_that_was_interrupted_is_made_by_the_next_one(team, monkeypatch):
    store, _, again = team
    store.pull(OCCASION)
    store.write(NOTE, "mine\n")
    for place, name in ((PublicDir, "move"), (PublicDir, "publish_index")):
        with monkeypatch.context() as patch:
            die_in(patch, place, name)
            with pytest.raises(Killed):
                store.commit("mine", AUTHORS, OCCASION)
    store = again()
    store.commit("mine", AUTHORS, OCCASION)
    assert git(store.describe(), "show", f"main:{NOTE}") == b"mine\n"
    assert git(store.describe(), "log", "--format=%s", "-2").decode().splitlines()[0] == "mine"
    assert is_sound(store)


def test_lock_files_that_our_own_processes_left_are_recognised(team, monkeypatch):
    store, _, again = team
    store.pull(OCCASION)
    store.write(NOTE, "mine\n")
    with monkeypatch.context() as patch:
        die_in(patch, public_dir.os, "replace")  # the branch's lock file is made, and not renamed
        patch.setattr(public_dir, "_unlink", lambda path: None)
        with pytest.raises(Killed):
            store.commit("mine", AUTHORS, OCCASION)
    ours = [os.path.join(store.clone.private.path, name) for name in ("index.lock", "HEAD.lock")]
    for lock in ours:
        open(lock, "w").close()
    locks = [name for _, _, names in os.walk(os.path.join(store.describe(), ".git")) for name in names]
    assert "main.lock" in locks
    store = again()
    assert store.commit("mine", AUTHORS, OCCASION).changed
    assert not os.path.exists(os.path.join(store.describe(), ".git", "refs", "heads", "main.lock"))
    assert is_sound(store)


def test_a_branch_that_the_operator_moved_meanwhile_is_left_alone(team, monkeypatch):
    store, _, again = team
    with monkeypatch.context() as patch:
        die_in(patch, applying.Folder, "replace", after=1)
        with pytest.raises(Killed):
            store.pull(OCCASION)
    root = store.describe()
    with open(os.path.join(root, "by-hand.md"), "w") as file:
        file.write("by hand\n")
    git(root, "add", "by-hand.md")
    git(root, "commit", "-q", "-m", "by hand")
    store = again()
    store.sync(OCCASION)
    assert "by hand" in git(root, "log", "--format=%s").decode()
    assert store.read(Locator("new.md")) == "new\n"
    assert is_sound(store)
