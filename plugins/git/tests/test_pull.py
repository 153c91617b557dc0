"""What the origin has comes into the folder, and over nothing that somebody wrote."""

from __future__ import annotations

import os
import stat

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, fsck, git

from agentm_git.backend import GitStore
from agentm_kernel import Locator
from agentm_kernel.errors import LocatorConflictError, StorageIOError, StoreIdentityError

NOTE = Locator("plans/note.md")


@pytest.fixture
def team(tmp_path, origin_by_path):
    """A clone, and an origin that somebody else pushes to with `fill`."""
    fill(origin_by_path, {NOTE.key: b"one\n", "other.md": b"other\n"})
    return open_clone(origin_by_path, str(tmp_path / "clone")), origin_by_path


def write(store, name, text):
    path = os.path.join(store.describe(), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def is_clean(store):
    return git(store.describe(), "status", "--porcelain") == b"" and fsck(store.describe()) == ""


def test_new_changed_and_deleted_notes_arrive(team):
    store, origin = team
    fill(origin, {NOTE.key: b"two\r\n", "new/deep/note.md": b"new\n"})
    done = store.pull(OCCASION)
    assert done.changed
    assert done.ref == origin.tip()
    assert store.read(NOTE) == "two\r\n"
    assert store.read(Locator("new/deep/note.md")) == "new\n"
    assert is_clean(store)
    assert not store.pull(OCCASION).changed


@pytest.mark.parametrize(("name", "content"), [("plans/NOTE.md", b"theirs\n"), ("large.md", b"x" * 1001)])
def test_a_note_that_cannot_be_in_the_folder_is_named(tmp_path, origin_by_path, name, content):
    """Another device has it, spelled like one of ours or larger than ours may be: nobody would ever miss it here."""
    fill(origin_by_path, {NOTE.key: b"one\n"})
    store = open_clone(origin_by_path, str(tmp_path / "clone"), size_limit=1000)
    fill(origin_by_path, {name: content, "other.md": b"other\n", ".envrc": b"left to the operator\n"})
    done = store.pull(OCCASION)
    assert f"; {name} cannot be in this folder" in done.note
    assert store.clone.looked.absent() == [name]
    assert store.read(Locator("other.md")) == "other\n"
    assert store.read(NOTE) == "one\n"
    assert store.pull(OCCASION).note is None, "once is enough; status and doctor go on naming it"


@pytest.mark.parametrize("commit", ["event", "write"])
def test_a_note_that_is_written_where_one_could_not_be_is_committed_and_the_other_version_kept(
    tmp_path, origin_by_path, commit
):
    """Git has been told to pass that name over; and nobody here has seen what another device wrote there."""
    other = Locator("plans/NOTE.md")
    fill(origin_by_path, {NOTE.key: b"one\n"})
    store = open_clone(origin_by_path, str(tmp_path / "clone"), commit=commit)
    fill(origin_by_path, {other.key: b"theirs\n"})
    store.pull(OCCASION)
    store.delete(NOTE)
    store.write(other, "ours\n")
    store.sync(OCCASION)
    assert origin_by_path.files()[other.key] == b"ours\n"
    assert b"theirs\n" in origin_by_path.files().values()
    assert store.clone.looked.absent() == []
    fill(origin_by_path, {other.key: b"theirs again\n"})
    store.sync(OCCASION)
    assert store.read(other) == "theirs again\n"
    assert is_clean(store)


def delete_at_origin(origin, tmp_path, *names):
    elsewhere = str(tmp_path / "elsewhere")
    git(str(tmp_path), "clone", "-q", origin.path, elsewhere)
    git(elsewhere, "rm", "-q", "--", *names)
    return elsewhere


def push_from(elsewhere, message="elsewhere"):
    git(elsewhere, "add", "-A")
    git(elsewhere, "commit", "-q", "-m", message)
    git(elsewhere, "push", "-q", "origin", "HEAD:main")


def test_deleted_notes_go_and_a_folder_may_take_the_name_of_a_note_and_back(team, tmp_path):
    store, origin = team
    elsewhere = delete_at_origin(origin, tmp_path, NOTE.key, "other.md")
    write_in(elsewhere, "other.md/inside.md", "inside\n")
    push_from(elsewhere)
    store.pull(OCCASION)
    assert not store.exists(NOTE)
    assert store.read(Locator("other.md/inside.md")) == "inside\n"
    git(elsewhere, "rm", "-q", "-r", "other.md")
    write_in(elsewhere, "other.md", "a note again\n")
    push_from(elsewhere)
    store.pull(OCCASION)
    assert store.read(Locator("other.md")) == "a note again\n"
    assert is_clean(store)


def write_in(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def test_a_tree_with_changes_is_not_pulled_over(team):
    store, origin = team
    store.write(NOTE, "mine\n")
    fill(origin, {NOTE.key: b"theirs\n", "new.md": b"new\n"})
    done = store.pull(OCCASION)
    assert not done.changed
    assert "not committed" in done.note
    assert store.read(NOTE) == "mine\n"
    assert not store.exists(Locator("new.md"))


def test_an_edit_that_comes_between_the_look_and_the_writing_is_kept(team, monkeypatch):
    store, origin = team
    fill(origin, {NOTE.key: b"theirs\n", "other.md": b"changed\n"})
    looked = store.clone.looked
    real = looked.changes

    def look_then_edit():
        found = real()
        store.write(NOTE, "an edit in this very moment\n")
        return found

    monkeypatch.setattr(looked, "changes", look_then_edit)
    done = store.pull(OCCASION)
    assert not done.changed
    assert NOTE.key in done.note
    assert store.read(NOTE) == "an edit in this very moment\n"
    assert store.read(Locator("other.md")) == "other\n", "all or nothing"


def test_what_an_editor_saves_between_the_comparison_and_the_write_is_kept_beside(team, monkeypatch):
    from agentm_kernel.files import atomic

    store, origin = team
    fill(origin, {NOTE.key: b"theirs\n"})
    real = atomic.write_temp

    def write_then_edit(directory, temp, data, status):
        real(directory, temp, data, status)
        if data == b"theirs\n":
            write(store, NOTE.key, "saved by an editor\n")

    monkeypatch.setattr(atomic, "write_temp", write_then_edit)
    store.pull(OCCASION)
    monkeypatch.undo()
    assert store.read(NOTE) == "theirs\n"
    (kept,) = store.list(Locator(f"_meta/conflicts/{NOTE}"))
    assert store.read(kept) == "saved by an editor\n"


def test_a_new_note_of_the_origin_does_not_replace_a_file_that_git_does_not_know(team):
    store, origin = team
    store.clone.folder._is_excluded = lambda key: key == "draft.md"
    write(store, "draft.md", "mine\n")
    fill(origin, {"draft.md": b"theirs\n", "new.md": b"new\n"})
    assert store.pull(OCCASION).changed
    assert store.read(Locator("draft.md")) == "mine\n"
    assert store.exists(Locator("new.md"))


def test_modes_of_notes_that_were_private_stay_private(team):
    store, origin = team
    os.chmod(store.device_path(NOTE), 0o600)
    fill(origin, {NOTE.key: b"two\n"})
    store.pull(OCCASION)
    assert stat.S_IMODE(os.stat(store.device_path(NOTE)).st_mode) == 0o600


def test_files_that_are_no_notes_stay_in_the_repository_and_survive_commits(team):
    store, origin = team
    fill(origin, {".github/workflows/run.yml": b"run\n", ".gitattributes": b"* text\n", "CON.md": b"device\n"})
    store.pull(OCCASION)
    assert sorted(os.listdir(store.describe())) == [".git", "_meta", "other.md", "plans"]
    store.write(NOTE, "mine\n")
    store.commit("mine", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert {".github/workflows/run.yml", ".gitattributes", "CON.md"} <= set(origin.files())
    fill(origin, {".github/workflows/run.yml": b"run more\n"})
    store.pull(OCCASION)
    store.write(NOTE, "mine again\n")
    store.commit("mine", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert origin.files()[".github/workflows/run.yml"] == b"run more\n"
    assert is_clean(store)


def test_names_that_differ_only_in_case_do_not_replace_each_other(team):
    store, origin = team
    fill(origin, {"Other.md": b"capital\n"})
    store.pull(OCCASION)
    assert store.read(Locator("other.md")) == "other\n"
    assert "Other.md" not in os.listdir(store.describe())
    fill(origin, {"Other.md": b"capital letters\n"})
    store.pull(OCCASION)
    assert origin.files()["Other.md"] == b"capital letters\n"
    assert is_clean(store)


def test_only_the_parts_that_were_asked_for_are_brought_in(tmp_path, origin_by_path):
    fill(origin_by_path, {"a/x.md": b"a\n", "b/x.md": b"b\n"})
    open_clone(origin_by_path, str(tmp_path / "first"))  # gives the origin its identity
    sparse = GitStore(
        tmp_path / "second", remote=origin_by_path.url, sparse=("a",), clones_itself=True, environ=dict(os.environ)
    )
    sparse.pull(OCCASION)
    assert sparse.exists(Locator("a/x.md"))
    assert sparse.exists(Locator("_meta/store.json"))
    assert not sparse.exists(Locator("b/x.md"))
    with pytest.raises(LocatorConflictError, match="outside"):
        sparse.write(Locator("b/y.md"), "no\n")
    sparse.write(Locator("a/y.md"), "yes\n")
    sparse.commit("mine", AUTHORS, OCCASION)
    sparse.push(OCCASION)
    assert {"a/x.md", "a/y.md", "b/x.md"} <= set(origin_by_path.files())


def test_an_origin_that_cannot_be_reached_is_an_error_that_changes_nothing(team):
    store, origin = team
    os.rename(origin.path, f"{origin.path}.away")
    with pytest.raises(StorageIOError, match="git fetch failed"):
        store.pull(OCCASION)
    assert store.read(NOTE) == "one\n"
    os.rename(f"{origin.path}.away", origin.path)
    assert not store.pull(OCCASION).changed


def test_an_origin_that_is_another_store_is_refused(team, tmp_path):
    from git_servers import serving

    store, _ = team
    with serving("file", str(tmp_path / "another")) as another:
        open_clone(another, str(tmp_path / "theirs"))
        wrong = GitStore(store.describe(), remote=another.url)
        with pytest.raises(StoreIdentityError, match="the origin holds store"):
            wrong.pull(OCCASION)
    assert store.read(NOTE) == "one\n"


def test_the_operators_git_sees_the_same_as_agentm(team):
    store, origin = team
    fill(origin, {NOTE.key: b"two\n"})
    store.pull(OCCASION)
    shown = git(store.describe(), "status", "--branch", "--porcelain=v2").decode()
    assert "# branch.ab +0 -0" in shown
    assert git(store.describe(), "reflog", "main").decode().count("agentm: bring in") >= 1
