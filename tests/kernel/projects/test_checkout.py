"""Which repository a project is: what its clones and worktrees share, and what others of its name do not."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import ConfigError
from agentm_kernel.projects import claiming
from agentm_kernel.projects.checkout import Checkout, read_checkout_id
from agentm_kernel.projects.claiming import make_checkout_id

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git


def identity(directory: Path) -> str | None:
    return Checkout(str(directory)).remote


def home_of_id(directory: Path) -> str | None:
    return Checkout(str(directory)).id_folder


def test_https_and_ssh_clones_of_one_repository_are_the_same(git: Git, tmp_path: Path) -> None:
    one = git.init(tmp_path / "one", remote="https://ada:s3cret@github.com/Owner/Widgets.git")
    two = git.init(tmp_path / "two", remote="git@github.com:owner/widgets.git")
    assert identity(one) == identity(two) == "github.com/owner/widgets"


def test_repositories_of_one_name_and_different_remotes_differ(git: Git, tmp_path: Path) -> None:
    mine = git.init(tmp_path / "mine" / "widgets", remote="git@github.com:ada/widgets.git")
    theirs = git.init(tmp_path / "theirs" / "widgets", remote="git@github.com:bob/widgets.git")
    assert identity(mine) != identity(theirs)


def test_projects_of_one_name_without_a_remote_are_known_by_their_checkouts(git: Git, tmp_path: Path) -> None:
    repository = git.init(tmp_path / "a" / "widgets")
    folder = tmp_path / "b" / "widgets"
    folder.mkdir(parents=True)
    assert identity(repository) is identity(folder) is None
    first, second = make_checkout_id(Checkout(str(repository))), make_checkout_id(Checkout(str(folder)))
    assert first != second
    assert [read_checkout_id(Checkout(str(root))) for root in (repository, folder)] == [first, second]
    assert git(repository, "status", "--porcelain") == ""


def test_an_id_that_cannot_be_written_is_none_and_one_that_cannot_be_understood_is_an_error(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = Checkout(str(git.init(tmp_path / "widgets")))
    monkeypatch.setattr(os, "open", refuse)
    assert make_checkout_id(checkout) is None
    monkeypatch.undo()
    (tmp_path / "widgets" / ".git" / "agentm-checkout").write_text("../../other\n")
    with pytest.raises(ConfigError, match="no id of a checkout"):
        read_checkout_id(checkout)


def refuse(*arguments: object, **options: object) -> int:
    if str(arguments[0]).endswith("HEAD") or "agentm-checkout." not in str(arguments[0]):
        raise FileNotFoundError(2, "No such file")
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_of_two_who_make_an_id_at_once_the_first_ones_stays(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    root = tmp_path / "widgets"
    root.mkdir()
    if kind == "repository":
        git.init(root)
    real, others = os.urandom, []

    def meanwhile(size: int) -> bytes:
        if not others:
            others.append("")
            others.append(make_checkout_id(Checkout(str(root))) or "")
        return real(size)

    monkeypatch.setattr(os, "urandom", meanwhile)
    assert make_checkout_id(Checkout(str(root))) == others[1] == read_checkout_id(Checkout(str(root)))


def test_whoever_comes_while_an_id_is_being_made_waits_for_that_one(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(git.init(tmp_path / "widgets"))
    real, first = claiming.read_placed_id, threading.current_thread()
    looks, others = itertools.count(1), list[str | None]()
    second = threading.Thread(target=lambda: others.append(make_checkout_id(Checkout(root))))

    def meanwhile(checkout: Checkout) -> tuple[str | None, bool]:
        found = real(checkout)
        if threading.current_thread() is first and next(looks) == 2:  # that there is none: the next step is to write
            second.start()
            second.join(0.5)
        return found

    monkeypatch.setattr(claiming, "read_placed_id", meanwhile)
    made = make_checkout_id(Checkout(root))
    second.join()
    assert others == [made]


@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_a_copy_is_another_checkout_and_a_moved_one_the_same(git: Git, tmp_path: Path, kind: str) -> None:
    root, copied, moved = (tmp_path / name for name in ("widgets", "copied", "moved"))
    root.mkdir()
    if kind == "repository":
        git.init(root)
    first = make_checkout_id(Checkout(str(root)))
    shutil.copytree(root, copied)
    assert read_checkout_id(Checkout(str(copied))) is None
    second = make_checkout_id(Checkout(str(copied)))
    assert second is not None
    assert second != first
    root.rename(moved)
    assert [read_checkout_id(Checkout(str(place))) for place in (moved, copied)] == [first, second]
    assert make_checkout_id(Checkout(str(moved))) == first
    shutil.copytree(moved, root)
    assert [read_checkout_id(Checkout(str(place))) for place in (moved, root)] == [first, None]


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_one_folder_under_two_names_is_no_copy(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    first = make_checkout_id(Checkout(str(root)))
    (tmp_path / "link").symlink_to("widgets")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path / 'link' / '.git' / 'worktrees' / 'tree'}\n")
    assert read_checkout_id(Checkout(str(tmp_path / "tree"))) == first


def test_an_id_is_32_hexadecimal_digits_that_no_other_has(git: Git, tmp_path: Path) -> None:
    ids = [make_checkout_id(Checkout(str(git.init(tmp_path / str(number))))) for number in range(3)]
    assert len({*ids}) == 3
    assert all(one and len(one) == 32 and {*one} <= {*"0123456789abcdef"} for one in ids)


@pytest.mark.parametrize("wrong", ["0" * 31, "0" * 33, "0" * 31 + "g", "0" * 31 + "A", ""])
def test_what_is_no_id_is_refused_wherever_it_lies(git: Git, tmp_path: Path, wrong: str) -> None:
    repository, folder = git.init(tmp_path / "repository"), tmp_path / "folder"
    (repository / ".git" / "agentm-checkout").write_text(f"{wrong}\n")
    (folder / ".harness").mkdir(parents=True)
    (folder / ".harness" / "project.json").write_text(json.dumps({"checkout": wrong}))
    for root in (repository, folder):
        with pytest.raises(ConfigError, match="no id of a checkout") as refused:
            read_checkout_id(Checkout(str(root)))
        assert "register --adopt" in (refused.value.hint or "")


def test_a_repository_that_is_its_own_origin_has_no_remote(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets", remote=".")
    assert identity(root) is None
    assert home_of_id(root) == str(root / ".git")


def test_clones_of_clones_are_the_first_ones_project(git: Git, tmp_path: Path) -> None:
    places = [git.init(tmp_path / "0")]
    for number in range(1, 7):
        git(tmp_path, "clone", "--quiet", str(places[-1]), str(number))
        places.append(tmp_path / str(number))
    *near, far = [home_of_id(place) for place in places]
    assert set(near) == {str(tmp_path / "0" / ".git")}
    assert far == str(tmp_path / "1" / ".git"), "five steps are enough"


def test_repositories_that_are_each_others_origin_have_no_remote(git: Git, tmp_path: Path) -> None:
    one, other = git.init(tmp_path / "one", remote="../other"), git.init(tmp_path / "other", remote="../one")
    assert identity(one) is identity(other) is None


def test_a_bare_origin_beside_a_folder_of_its_name_is_the_remote(git: Git, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "widgets.git")
    git.init(tmp_path / "widgets")
    clone = git.init(tmp_path / "clone", remote=str(tmp_path / "widgets.git"))
    assert identity(clone) == str(tmp_path / "widgets")


def test_a_repository_without_a_remote_is_the_origin_of_its_clones_and_worktrees(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    git(tmp_path, "clone", "--quiet", str(root), "clone")
    git(tmp_path, "clone", "--quiet", f"file://{root}", "by-url")
    git(tmp_path, "clone", "--quiet", f"{root}/.git", "by-git-dir")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    places = [tmp_path / name for name in ("widgets", "clone", "by-url", "by-git-dir", "tree")]
    assert {identity(place) for place in places} == {None}
    assert {home_of_id(place) for place in places} == {str(root / ".git")}
    git(root, "remote", "add", "origin", "git@github.com:ada/widgets.git")
    assert {identity(place) for place in places} == {"github.com/ada/widgets"}


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
    assert home_of_id(tmp_path / "clone") == home_of_id(tmp_path / "origins" / "widgets")


def test_the_parts_of_a_monorepo_differ_from_each_other_and_from_the_whole(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "mono", remote="git@github.com:owner/mono.git")
    parts = [root / "packages" / name for name in ("a", "b")]
    for part in parts:
        (part / ".harness").mkdir(parents=True)
    whole = identity(root)
    assert [identity(part) for part in parts] == [f"{whole}#packages/a", f"{whole}#packages/b"]
    git(root, "remote", "remove", "origin")
    assert len({make_checkout_id(Checkout(str(place))) for place in (root, *parts)}) == 3


def test_a_part_of_a_monorepo_is_the_same_from_a_worktree(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "mono", remote="git@github.com:owner/mono.git")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    for top in (root, tmp_path / "tree"):
        (top / "part" / ".harness").mkdir(parents=True)
    assert identity(root / "part") == identity(tmp_path / "tree" / "part")
