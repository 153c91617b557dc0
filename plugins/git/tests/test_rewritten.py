"""An origin that took commits out: not sent back, and not dropped here, until the operator has said which."""

from __future__ import annotations

import json

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import BRANCH, git

from agentm_git.rewritten import is_pending
from agentm_kernel.plugin import Locator, StorageConflictError

SECRET, LATER = Locator("secret.md"), Locator("later.md")


@pytest.fixture(params=["to before", "to something else"])
def rewritten(request, tmp_path, origin_by_path):
    """A clone with a commit that the origin had, and that somebody took out there."""
    store = open_clone(origin_by_path, str(tmp_path / "one"))
    store.write(Locator("plan.md"), "the plan\n")
    store.commit("plan", AUTHORS, OCCASION)
    store.push(OCCASION)
    before = git(origin_by_path.path, "rev-parse", BRANCH).decode().strip()
    store.write(SECRET, "a password\n")
    store.commit("secret", AUTHORS, OCCASION)
    store.push(OCCASION)
    if request.param == "to something else":
        tree = git(origin_by_path.path, "rev-parse", f"{before}^{{tree}}").decode().strip()
        person = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        before = git(origin_by_path.path, *person, "commit-tree", tree, "-p", before, "-m", "clean").decode().strip()
    git(origin_by_path.path, "update-ref", f"refs/heads/{BRANCH}", before)
    return store


def has_secret(origin) -> bool:
    return SECRET.key in origin.files()


@pytest.mark.parametrize("step", ["pull", "push", "sync"])
def test_nothing_is_sent_back_without_a_word(rewritten, origin_by_path, step):
    rewritten.write(LATER, "later\n")
    rewritten.commit("later", AUTHORS, OCCASION)
    for _ in range(2):  # the first refusal is not forgotten by the second try
        with pytest.raises(StorageConflictError, match="was rewritten at the origin: 1 commit") as caught:
            getattr(rewritten, step)(OCCASION)
        assert "--rewritten follow" in caught.value.hint
        assert not has_secret(origin_by_path)
    assert rewritten.read(SECRET) == "a password\n", "and nothing is lost here"


def test_follow_lets_go_and_keeps_what_was_written_since(rewritten, origin_by_path):
    rewritten.write(LATER, "later\n")
    with pytest.raises(StorageConflictError):
        rewritten.sync(OCCASION)
    assert is_pending(rewritten.clone.private, BRANCH)
    rewritten.sync(OCCASION, rewritten="follow")
    assert not is_pending(rewritten.clone.private, BRANCH), "doctor has nothing to warn about any more"
    assert not rewritten.exists(SECRET)
    assert rewritten.read(LATER) == "later\n"
    assert origin_by_path.files()[LATER.key] == b"later\n"
    assert not has_secret(origin_by_path)
    assert SECRET.key not in git(origin_by_path.path, "log", "--name-only", "--format=", BRANCH).decode()
    rewritten.sync(OCCASION)


def test_follow_with_nothing_written_since_settles_it(rewritten):
    with pytest.raises(StorageConflictError):
        rewritten.pull(OCCASION)
    rewritten.sync(OCCASION, rewritten="follow")
    assert not rewritten.exists(SECRET)
    assert not is_pending(rewritten.clone.private, BRANCH)


def test_keep_sends_back(rewritten, origin_by_path):
    with pytest.raises(StorageConflictError):
        rewritten.pull(OCCASION)
    rewritten.sync(OCCASION, rewritten="keep")
    assert not is_pending(rewritten.clone.private, BRANCH)
    assert has_secret(origin_by_path)
    rewritten.write(LATER, "later\n")
    rewritten.sync(OCCASION)


def test_an_origin_that_has_them_again_needs_no_answer(rewritten, origin_by_path):
    removed = git(rewritten.describe(), "rev-parse", "HEAD").decode().strip()
    with pytest.raises(StorageConflictError):
        rewritten.pull(OCCASION)
    git(origin_by_path.path, "update-ref", f"refs/heads/{BRANCH}", removed)
    rewritten.pull(OCCASION)
    rewritten.write(LATER, "later\n")
    rewritten.sync(OCCASION)
    assert json.dumps(sorted(origin_by_path.files())).count("later") == 1
