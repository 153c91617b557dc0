"""Making a clone, step by step: what lies there afterwards, and what happens when somebody was faster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from clones import open_clone
from git_servers import fill, git

from agentm_git import setup
from agentm_git.backend import GitStore
from agentm_git.settings import Settings
from agentm_git.setup import fill as fill_clone, known_origin, make_clone, place_of, set_up
from agentm_kernel import Locator
from agentm_kernel.errors import StorageIOError, StorageSelectionError
from agentm_kernel.plugin import STAMP_KEY, TEMP_PREFIX

if TYPE_CHECKING:
    from pathlib import Path

    from git_servers import Origin

URL = "https://example.com/n.git"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


def settings_of(root: Path) -> dict[str, str]:
    listed = git(str(root), "config", "--file", ".git/config", "--list").decode().splitlines()
    return dict(line.split("=", 1) for line in listed)


# ------------------------------------------------------------------------------------------------ an empty clone


def test_the_operators_git_knows_the_origin_and_the_branch(tmp_path: Path) -> None:
    root = tmp_path / "clone"
    make_clone(str(root), Settings(remote=URL, branch="notes"), os.environ)
    found = settings_of(root)
    assert (found["remote.origin.url"], found["remote.origin.fetch"]) == (URL, "+refs/heads/*:refs/remotes/origin/*")
    assert (found["branch.notes.remote"], found["branch.notes.merge"]) == ("origin", "refs/heads/notes")
    assert known_origin(str(root), os.environ) == URL
    assert (root / ".git" / "HEAD").read_text() == "ref: refs/heads/notes\n"
    assert f"{TEMP_PREFIX}*\n" in (root / ".git" / "info" / "exclude").read_text()
    assert os.listdir(tmp_path) == ["clone"], "nothing is left beside it"


def test_a_clone_without_an_origin_knows_none_and_one_that_is_there_stays(tmp_path: Path) -> None:
    root = tmp_path / "clone"
    make_clone(str(root), Settings(), os.environ)
    assert known_origin(str(root), os.environ) == ""
    before = (root / ".git" / "config").read_text()
    make_clone(str(root), Settings(remote=URL), os.environ)
    assert (root / ".git" / "config").read_text() == before


def test_a_folder_with_files_becomes_a_clone_where_it_is(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    (root / "note.md").write_text("mine\n")
    make_clone(str(root), Settings(), os.environ)
    assert sorted(os.listdir(root)) == [".git", "note.md"]
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize("was_faster", [True, False])
def test_of_two_that_make_a_clone_at_once_one_is_too_late_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_faster: bool
) -> None:
    root = tmp_path / "clone"

    def too_late(*_: object) -> None:
        if was_faster:
            (root / ".git" / "objects").mkdir(parents=True)
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(os, "rename", too_late)
    if was_faster:
        make_clone(str(root), Settings(), os.environ)
        assert os.listdir(tmp_path) == ["clone"]
    else:
        with pytest.raises(StorageIOError, match=f"cannot make {root}: Directory not empty") as caught:
            make_clone(str(root), Settings(), os.environ)
        assert caught.value.errno == 39
        assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------ set up


def test_what_was_set_up_is_told(tmp_path: Path, origin_by_path: Origin, environ: dict[str, str]) -> None:
    first = set_up(str(tmp_path / "one"), origin_by_path.url, environ=environ)
    assert (first.place, first.was_there, first.remote, first.outer) == (
        str(tmp_path / "one"),
        False,
        origin_by_path.url,
        "",
    )
    assert origin_by_path.git("log", "--format=%s").decode().splitlines() == ["agentm: set the store up"]
    other = {**environ, "HOME": str(tmp_path / "other")}
    second = set_up(str(tmp_path / "two"), origin_by_path.url, environ=other)
    assert (second.was_there, second.store_id) == (True, first.store_id)
    again = set_up(str(tmp_path / "two"), environ=other)
    assert (again.remote, again.store_id) == (origin_by_path.url, first.store_id), "the clone knows its origin"


def test_whoever_sets_up_an_origin_a_moment_later_takes_its_identity(
    tmp_path: Path, origin_by_path: Origin, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = open_clone(origin_by_path, str(tmp_path / "theirs")).read(Locator(STAMP_KEY))
    monkeypatch.setattr(setup, "fill", lambda *_, **__: None)  # it was empty when we looked
    done = set_up(str(tmp_path / "ours"), origin_by_path.url, environ=environ)
    assert done.was_there
    assert done.store_id in theirs
    assert origin_by_path.files()[STAMP_KEY].decode() == theirs


def test_a_path_is_from_home_or_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("~/notes", environ={"HOME": "/home/ana"}) == "/home/ana/notes"
    assert place_of("a/../notes") == str(tmp_path / "notes")


@pytest.mark.parametrize(
    ("name", "said"),
    [("file", "is not a folder"), ("full", r"is not empty: it has 'a\.md'"), ("none/notes", "none does not exist")],
)
def test_a_place_that_is_none_is_refused_and_left_alone(
    tmp_path: Path, environ: dict[str, str], name: str, said: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    for note in ("b.md", "a.md"):
        (tmp_path / "full" / note).write_text("")
    with pytest.raises(StorageSelectionError, match=said):
        set_up(str(tmp_path / name), environ=environ)
    assert sorted(os.listdir(tmp_path / "full")) == ["a.md", "b.md"]
    assert not (tmp_path / "none").exists()


def test_a_store_that_lost_its_repository_gets_one_again(tmp_path: Path, environ: dict[str, str]) -> None:
    place = tmp_path / "notes"
    first = set_up(str(place), environ=environ)
    os.rename(place / ".git", tmp_path / "gone")
    again = set_up(str(place), environ=environ)
    assert (again.store_id, again.was_there) == (first.store_id, True)


@pytest.mark.parametrize(("is_new", "is_left"), [(True, False), (False, True)])
def test_a_new_clone_of_an_origin_that_cannot_be_had_is_not_left_lying(
    tmp_path: Path, is_new: bool, is_left: bool
) -> None:
    store = GitStore(str(tmp_path / "clone"), remote=f"file://{tmp_path}/none.git", environ=dict(os.environ))
    make_clone(store.describe(), store.settings, os.environ)
    with pytest.raises(StorageIOError):
        fill_clone(store, store.describe(), is_new=is_new)
    assert (tmp_path / "clone").exists() is is_left


def test_a_place_for_a_checkpoint_is_a_clone_with_what_the_origin_has(tmp_path: Path, origin_by_path: Origin) -> None:
    fill(origin_by_path, {"a.md": b"a\n"})
    options: dict[str, Any] = {"environ": dict(os.environ)}
    store = GitStore(str(tmp_path / "clone"), remote=origin_by_path.url, **options)
    store.make_place()
    assert store.read(Locator("a.md")) == "a\n"
    away = GitStore(str(tmp_path / "other"), remote=f"file://{tmp_path}/none.git", **options)
    with pytest.raises(StorageIOError) as caught:
        away.make_place()
    assert "`agentm config unset plugins.git.remote` first" in (caught.value.hint or "")
    alone = GitStore(str(tmp_path / "alone"), **options)
    alone.make_place()
    assert (tmp_path / "alone" / ".git").is_dir()
    own = GitStore(str(tmp_path / "own"), remote=origin_by_path.url, clones_itself=True, **options)
    own.make_place()
    assert not (tmp_path / "own" / ".git").exists(), "its first pull makes it"
