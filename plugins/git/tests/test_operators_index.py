"""What the operator's git may leave in the index of the clone: notes are seen all the same, or the way out said."""

from __future__ import annotations

import os

import pytest
from clones import AUTHORS, OCCASION
from git_servers import git

from agentm_git.backend import GitStore
from agentm_git.doctor import _clone
from agentm_git.setup import make_clone
from agentm_kernel import Locator
from agentm_kernel.errors import StorageConflictError

NOTE, OTHER = Locator("plans/note.md"), Locator("plans/other.md")


@pytest.fixture
def store(tmp_path):
    made = GitStore(tmp_path / "clone")
    make_clone(made.describe(), made.settings, os.environ)
    for note in (NOTE, OTHER):
        made.write(note, "one\n")
    made.commit("first", AUTHORS, OCCASION)
    return made


def said(store, *arguments):
    return git(store.describe(), *arguments).decode()


def test_a_split_index_is_read_whole(store):
    said(store, "-c", "core.splitIndex=true", "update-index", "--split-index")
    store.write(NOTE, "two\n")

    assert [change.path for change in store.clone.changes()] == [NOTE.key]
    store.commit("second", AUTHORS, OCCASION)
    assert said(store, "show", f"main:{NOTE}") == "two\n"
    assert said(store, "show", f"main:{OTHER}") == "one\n"
    assert said(store, "status", "--porcelain") == ""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_note_that_the_operators_git_takes_for_unchanged_is_looked_at(store, when):
    """`git update-index --assume-unchanged` says so of one note, `core.ignoreStat` of all."""
    for step in ("flag", "edit") if when == "before" else ("edit", "flag"):
        if step == "flag":
            said(store, "update-index", "--assume-unchanged", NOTE.key)
            store.has_changes()
        else:
            with open(os.path.join(store.describe(), NOTE.key), "w") as file:
                file.write("two, which is longer\n")

    assert store.has_changes()
    store.commit("second", AUTHORS, OCCASION)
    assert said(store, "show", f"main:{NOTE}") == "two, which is longer\n"


def test_a_file_of_the_operators_that_their_git_takes_for_unchanged_stays_so(store):
    """A name that begins with a dot is no note's, so agentm has no say about it."""
    own = os.path.join(store.describe(), ".envrc")
    with open(own, "w") as file:
        file.write("use flake\n")
    said(store, "add", ".envrc")
    said(store, "commit", "-q", "-m", "for all")
    said(store, "update-index", "--assume-unchanged", ".envrc")
    with open(own, "w") as file:
        file.write("only here, and for nobody else\n")
    store.write(NOTE, "two\n")
    store.commit("second", AUTHORS, OCCASION)

    assert said(store, "ls-files", "-v", ".envrc") == "h .envrc\n"
    assert said(store, "status", "--porcelain") == ""


def test_a_stash_that_could_not_be_put_back_is_to_be_settled_first(store):
    root = store.describe()
    store.write(NOTE, "mine\n")
    said(store, "stash", "-q")
    store.write(NOTE, "theirs\n")
    store.commit("second", AUTHORS, OCCASION)
    git(root, "stash", "pop", check=False)

    with pytest.raises(StorageConflictError, match=f"'{NOTE}'") as caught:
        store.commit("third", AUTHORS, OCCASION)
    assert f"git -C {root} add {NOTE}" in caught.value.hint
    assert _clone(store.clone).status == "fail"
    assert said(store, "show", f"main:{NOTE}") == "theirs\n", "no marks of git's are committed as a note"
    store.write(NOTE, "both\n")
    said(store, "add", NOTE.key)
    store.commit("third", AUTHORS, OCCASION)
    assert said(store, "show", f"main:{NOTE}") == "both\n"
    assert _clone(store.clone).status == "ok"
