"""Commits and refs that agentm writes are those that git would have written."""

from __future__ import annotations

import os
import re

import pytest
from clones import AUTHORS, OCCASION
from git_servers import bare_environment, fsck, git

from agentm_git.backend import GitStore
from agentm_git.setup import make_clone
from agentm_kernel import Author, Locator


@pytest.fixture
def store(tmp_path):
    store = GitStore(tmp_path / "clone")
    make_clone(store.describe(), store.settings, os.environ)
    store.write(Locator("note.md"), "one\n")
    store.commit("first", AUTHORS, OCCASION)
    return store


@pytest.mark.parametrize("message", ["plain", "Größe\n\nZwei Absätze,\nmehrere Zeilen.", "x" * 5000])
@pytest.mark.parametrize("person", [Author("Ana", "ana@example.com"), Author("Иван Ö.", "i@example.com")])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_the_same_commit_has_the_same_id(store, message, person, zone, monkeypatch):
    import subprocess
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    store.write(Locator("note.md"), message)
    commit = store.commit(message, (person,), OCCASION).ref
    monkeypatch.undo()
    time.tzset()
    raw = git(store.describe(), "cat-file", "commit", commit).decode()
    tree, parent, when = (
        re.search(pattern, raw, re.MULTILINE)[1]
        for pattern in (r"^tree (\w+)$", r"^parent (\w+)$", r"^author .*> (\d+ [+-]\d+)$")
    )
    people = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", person.name.rstrip(".")), ("EMAIL", person.email), ("DATE", when))
    }
    done = subprocess.run(
        ["git", "commit-tree", tree, "-p", parent, "-F", "-"],
        cwd=store.describe(),
        check=True,
        capture_output=True,
        env={**bare_environment(), **people},
        input=raw.partition("\n\n")[2].encode(),
    )
    assert done.stdout.decode().strip() == commit
    assert fsck(store.describe()) == ""


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
