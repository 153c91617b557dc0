"""The files of a clone: what cannot be had leaves nothing behind, and nothing of the operator's is taken away."""

from __future__ import annotations

import errno
import os

import pytest
from git_servers import git

from agentm_git.backend import GitStore
from agentm_git.settings import Settings
from agentm_git.setup import make_clone, set_up
from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError, StorageIOError
from agentm_kernel.plugin import TEMP_PREFIX


def test_a_repository_of_the_operators_stays_when_its_origin_cannot_be_reached(tmp_path):
    """It may have no commit yet and still be theirs: their settings, their hooks."""
    mine = tmp_path / "mine"
    git(str(tmp_path), "init", "-q", "-b", "main", str(mine))
    with pytest.raises(AgentmError):
        set_up(str(mine), f"file://{tmp_path}/none.git", environ={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert (mine / ".git" / "config").is_file()


@pytest.mark.parametrize(("place", "why"), [("outer/deep", "lies inside"), (".", "has another store in it")])
def test_a_clone_is_no_store_inside_of_another_one_nor_around_one(tmp_path, place, why):
    """A restore of the outer store deleted what the inner one had."""
    (tmp_path / "outer" / "_meta").mkdir(parents=True)
    (tmp_path / "outer" / "_meta" / "store.json").write_text("{}")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with pytest.raises(AgentmError, match=why):
        set_up(str(tmp_path / place), adopt=True, environ=environ)
    assert not (tmp_path / place / ".git").exists()


def test_a_folder_that_cannot_be_made_is_an_error_with_the_systems_reason(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageIOError, match="cannot make") as caught:
        make_clone(str(tmp_path / "file" / "clone"), Settings(), dict(os.environ))
    assert caught.value.errno in (errno.EEXIST, errno.ENOTDIR)


def test_what_a_write_leaves_for_a_moment_is_no_business_of_the_operators_git(tmp_path):
    make_clone(str(tmp_path / "clone"), Settings(), dict(os.environ))
    (tmp_path / "clone" / f"{TEMP_PREFIX}x.swap").write_text("displaced")

    assert git(str(tmp_path / "clone"), "status", "--porcelain") == b""


def test_a_version_is_put_aside_once_and_never_over_what_the_operator_made_of_it(tmp_path):
    store = GitStore(str(tmp_path / "clone"))
    make_clone(store.describe(), store.settings, dict(os.environ))
    folder = store.clone.folder

    first = folder.put_aside("plans/a.md", b"lost\n")
    assert folder.put_aside("plans/a.md", b"lost\n") == first
    store.write(Locator(first), "half taken over\n")
    second = folder.put_aside("plans/a.md", b"lost\n")

    assert second != first
    assert (store.read(Locator(first)), store.read(Locator(second))) == ("half taken over\n", "lost\n")


def test_a_branch_that_cannot_be_read_is_an_error_and_not_an_empty_one(tmp_path):
    store = GitStore(str(tmp_path / "clone"))
    make_clone(store.describe(), store.settings, dict(os.environ))
    assert store.clone.public.head() is None
    (tmp_path / "clone" / ".git" / "refs" / "heads" / "main").write_text("half of an i")

    with pytest.raises(StorageIOError, match="refs/heads/main of .* cannot be read"):
        store.clone.public.head()


def test_a_clone_promises_files_on_this_device_deletion_many_writers_and_an_origin(tmp_path):
    found = GitStore(str(tmp_path / "clone")).capabilities

    assert (found.device_files, found.delete, found.concurrent_writers, found.sync) == (True, True, True, True)
