"""Commits keep who made them, and git can read what agentm writes for it."""

from __future__ import annotations

import os

import pytest
from clones import AUTHORS, OCCASION
from git_servers import fsck, git

from agentm_git.backend import GitStore
from agentm_git.setup import make_clone
from agentm_kernel import Locator
from agentm_kernel.plugin import Author


@pytest.fixture
def store(tmp_path):
    store = GitStore(tmp_path / "clone")
    make_clone(store.describe(), store.settings, os.environ)
    store.write(Locator("note.md"), "one\n")
    store.commit("first", AUTHORS, OCCASION)
    return store


@pytest.mark.parametrize("message", ["plain", "Größe\n\nZwei Absätze,\nmehrere Zeilen.", "# no comment", "x" * 5000])
def test_a_commit_that_is_put_on_top_is_the_same_but_for_tree_and_parent(store, message, monkeypatch):
    monkeypatch.setenv("TZ", "America/St_Johns")
    root = store.describe()
    store.write(Locator("note.md"), message)
    people = (Author("Иван Ö", "i@example.com"), Author("Ana", "ana@example.com"))
    commit = store.commit(message, people, OCCASION).ref
    tree = git(root, "rev-parse", f"{commit}~:").decode().strip()
    again = store.clone.commits.again(commit, tree, commit)
    before, after = (git(root, "cat-file", "commit", name).decode().split("\n") for name in (commit, again))
    assert after[:2] == [f"tree {tree}", f"parent {commit}"]
    assert after[2:] == before[2:]
    assert "Co-authored-by: Ana <ana@example.com>" in after
    assert fsck(root) == ""


def test_gits_own_log_of_the_branch_can_be_read(store):
    for number in range(3):
        store.write(Locator("note.md"), f"{number}\n")
        store.commit(f"commit {number}", AUTHORS, OCCASION)
    log = git(store.describe(), "reflog", "main").decode().splitlines()
    assert [line.partition("commit: ")[2] for line in log] == ["commit 2", "commit 1", "commit 0", "first"]
    assert git(store.describe(), "show", "main@{1}:note.md") == b"1\n"
    git(store.describe(), "gc", "-q", "--prune=now")
    store.write(Locator("note.md"), "after git's housekeeping\n")
    assert store.commit("more", AUTHORS, OCCASION).changed
    assert fsck(store.describe()) == ""
