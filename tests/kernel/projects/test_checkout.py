"""Which repository a project is: what its clones and worktrees share, and what others of its name do not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.projects.checkout import Checkout

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git


def identity(directory: Path) -> str:
    return Checkout(str(directory)).identity


def test_https_and_ssh_clones_of_one_repository_are_the_same(git: Git, tmp_path: Path) -> None:
    one = git.init(tmp_path / "one", remote="https://ada:s3cret@github.com/Owner/Widgets.git")
    two = git.init(tmp_path / "two", remote="git@github.com:owner/widgets.git")
    assert identity(one) == identity(two) == "github.com/owner/widgets"


def test_repositories_of_one_name_and_different_remotes_differ(git: Git, tmp_path: Path) -> None:
    mine = git.init(tmp_path / "mine" / "widgets", remote="git@github.com:ada/widgets.git")
    theirs = git.init(tmp_path / "theirs" / "widgets", remote="git@github.com:bob/widgets.git")
    assert identity(mine) != identity(theirs)


def test_projects_of_one_name_without_a_remote_differ(git: Git, tmp_path: Path) -> None:
    repository = git.init(tmp_path / "a" / "widgets")
    folder = tmp_path / "b" / "widgets"
    folder.mkdir(parents=True)
    assert identity(repository) == str(repository)
    assert identity(folder) == str(folder)


def test_a_repository_without_a_remote_is_the_origin_of_its_clones_and_worktrees(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    git(tmp_path, "clone", "--quiet", str(root), "clone")
    git(tmp_path, "clone", "--quiet", f"file://{root}", "by-url")
    git(tmp_path, "clone", "--quiet", f"{root}/.git", "by-git-dir")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert {identity(tmp_path / name) for name in ("widgets", "clone", "by-url", "by-git-dir", "tree")} == {str(root)}


def test_a_remote_relative_to_the_repository_means_the_same_from_a_worktree(git: Git, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    root = git.init(tmp_path / "projects" / "widgets", remote="../../origin.git")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert identity(root) == identity(tmp_path / "tree") == str(tmp_path / "origin")


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_local_origin_reached_through_a_link_is_the_same(git: Git, tmp_path: Path) -> None:
    git.init(tmp_path / "origins" / "widgets")
    (tmp_path / "link").symlink_to("origins")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "link" / "widgets"), "clone")
    assert identity(tmp_path / "clone") == identity(tmp_path / "origins" / "widgets")


@pytest.mark.parametrize("remote", ["git@github.com:owner/mono.git", None])
def test_the_parts_of_a_monorepo_differ_from_each_other_and_from_the_whole(
    git: Git, tmp_path: Path, remote: str | None
) -> None:
    root = git.init(tmp_path / "mono", remote=remote)
    parts = [root / "packages" / name for name in ("a", "b")]
    for part in parts:
        (part / ".harness").mkdir(parents=True)
    whole = identity(root)
    assert [identity(part) for part in parts] == [f"{whole}#packages/a", f"{whole}#packages/b"]


def test_a_part_of_a_monorepo_is_the_same_from_a_worktree(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "mono", remote="git@github.com:owner/mono.git")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    for top in (root, tmp_path / "tree"):
        (top / "part" / ".harness").mkdir(parents=True)
    assert identity(root / "part") == identity(tmp_path / "tree" / "part")
