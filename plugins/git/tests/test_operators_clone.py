"""What the operator does with git in the clone: no hint of ours, and no set-up, costs a note."""

from __future__ import annotations

import os

import pytest
from clones import AUTHORS, OCCASION, device, found_store, keys_of, open_clone
from git_servers import BRANCH, git

from agentm_git.backend import GitStore
from agentm_git.doctor import _ignored
from agentm_git.folder import Folder
from agentm_git.setup import make_clone, set_up
from agentm_kernel import Locator
from agentm_kernel.errors import StorageConflictError, StorageSelectionError
from agentm_kernel.seam.backend import STAMP_KEY

NOTE = Locator("plans/note.md")


@pytest.fixture
def store(tmp_path):
    made = GitStore(tmp_path / "clone")
    make_clone(made.describe(), made.settings, os.environ)
    made.write(NOTE, "one\n")
    made.commit("first", AUTHORS, OCCASION)
    return made


@pytest.mark.parametrize("how", [("--no-checkout",), ("--no-checkout", "--filter=blob:none")], ids=" ".join)
def test_a_clone_without_its_files_gets_them_and_deletes_nothing_at_the_origin(tmp_path, origin_by_path, how):
    found_store(origin_by_path, str(tmp_path))
    one = open_clone(origin_by_path, str(tmp_path / "one"))
    one.write(NOTE, "one\n")
    one.sync(OCCASION)
    root = str(tmp_path / "two")
    git(str(tmp_path), "clone", "-q", "-b", BRANCH, *how, origin_by_path.url, root)

    done = set_up(root, environ=device(f"{root}.home"), options={"branch": BRANCH})

    assert done.was_there
    assert GitStore(root).read(NOTE) == "one\n"
    assert git(root, "status", "--porcelain") == b""
    one.sync(OCCASION)
    assert keys_of(one) == {NOTE.key}


@pytest.mark.parametrize("after", [1, 2])
def test_such_a_clone_gets_the_rest_of_them_where_that_was_cut_off(tmp_path, origin_by_path, monkeypatch, after):
    found_store(origin_by_path, str(tmp_path))
    one = open_clone(origin_by_path, str(tmp_path / "one"))
    one.write(NOTE, "one\n")
    one.sync(OCCASION)
    root = str(tmp_path / "two")
    git(str(tmp_path), "clone", "-q", "-b", BRANCH, "--no-checkout", origin_by_path.url, root)
    left, real = [after], Folder.replace

    def replace(*given):
        real(*given)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            set_up(root, environ=device(f"{root}.home"), options={"branch": BRANCH})
    set_up(root, environ=device(f"{root}.home"), options={"branch": BRANCH})

    assert keys_of(GitStore(root)) == {NOTE.key}
    one.sync(OCCASION)
    assert keys_of(one) == {NOTE.key}


def test_what_the_operator_wrote_into_such_a_clone_stays(tmp_path, store):
    root = store.describe()
    store.write(Locator("plans/kept.md"), "kept\n")
    store.commit("second", AUTHORS, OCCASION)
    os.unlink(os.path.join(root, "plans/kept.md"))
    store.write(NOTE, "edited\n")

    set_up(root, adopt=True, environ=device(str(tmp_path / "home")))

    assert (store.read(NOTE), store.read(Locator("plans/kept.md"))) == ("edited\n", "kept\n")
    assert keys_of(store) == {NOTE.key, "plans/kept.md"}
    assert store.exists(Locator(STAMP_KEY))


def test_a_work_tree_of_another_repository_is_refused_and_left_alone(tmp_path, store):
    tree = str(tmp_path / "tree")
    git(store.describe(), "worktree", "add", "-q", "-b", "side", tree)
    before = sorted(os.listdir(tree))
    with pytest.raises(StorageSelectionError, match="work tree of another repository") as caught:
        set_up(tree, adopt=True, environ=device(str(tmp_path / "home")))
    assert "another folder" in caught.value.hint
    assert sorted(os.listdir(tree)) == before


def test_a_branch_that_was_renamed_is_to_be_renamed_back(store):
    """`git switch main` would make a new branch, without the notes that are not pushed yet."""
    root = store.describe()
    git(root, "branch", "-m", "main", "notes")
    store.write(Locator("new.md"), "new\n")
    with pytest.raises(StorageConflictError, match="is on notes") as caught:
        store.commit("second", AUTHORS, OCCASION)
    assert f"git -C {root} branch -m notes main" in caught.value.hint
    git(root, "branch", "-m", "notes", "main")
    store.commit("second", AUTHORS, OCCASION)
    assert git(root, "show", f"main:{NOTE}") == b"one\n"


def test_where_each_write_is_committed_none_is_made_that_cannot_be(store):
    strict = GitStore(store.root, commit="write")
    git(store.describe(), "switch", "-q", "-c", "other")
    with pytest.raises(StorageConflictError, match="is on other"):
        strict.write(NOTE, "two\n")
    with pytest.raises(StorageConflictError, match="is on other"):
        strict.delete(NOTE)
    assert store.read(NOTE) == "one\n", "a refusal changes nothing"


def test_a_note_whose_name_no_key_can_spell_is_reported(store):
    for name in ("What is it?.md", "cafe\u0301.md"):
        with open(os.path.join(store.describe(), "plans", name), "w") as file:
            file.write("by hand\n")
    assert not store.commit("second", AUTHORS, OCCASION).changed
    assert store.clone.looked.ignored() == ["plans/What is it?.md", "plans/cafe\u0301.md"]
    assert "What is it?.md" in _ignored(store.clone)[0].message


def test_whoever_joins_is_told_on_which_branch_the_others_keep_their_notes(tmp_path, origin_by_path):
    """Or there were two stores at one origin, each said to be synced."""
    root, environ = str(tmp_path / "one"), device(str(tmp_path / "home"))
    set_up(root, origin_by_path.url, environ=environ, options={"branch": "master"})
    joining = str(tmp_path / "two")

    with pytest.raises(StorageSelectionError, match="has no branch main, and has master") as caught:
        set_up(joining, origin_by_path.url, adopt=True, environ=environ)
    assert "--branch master" in caught.value.hint
    assert not os.path.exists(joining)
    assert set_up(joining, origin_by_path.url, environ=environ, options={"branch": "master"}).was_there
    apart = set_up(str(tmp_path / "three"), origin_by_path.url, environ=environ, options={"branch": "main"})
    assert not apart.was_there, "who names the branch may have one beside the others"


def test_a_clone_of_another_branch_is_not_to_be_renamed(tmp_path, store):
    root = str(tmp_path / "two")
    git(store.describe(), "branch", "-m", "main", "trunk")
    git(str(tmp_path), "clone", "-q", store.describe(), root)
    with pytest.raises(StorageConflictError, match="is on trunk") as caught:
        set_up(root, adopt=True, environ=device(str(tmp_path / "home")))
    assert "branch -m" not in caught.value.hint
    assert "--branch trunk" in caught.value.hint
