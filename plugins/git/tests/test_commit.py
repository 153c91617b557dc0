"""A commit has the notes as they are, whoever wrote them, and nothing else."""

from __future__ import annotations

import os
import threading

import pytest
from clones import AUTHORS, OCCASION
from git_servers import fsck, git

from agentm_git.backend import GitStore
from agentm_git.setup import make_clone
from agentm_kernel import Locator
from agentm_kernel.errors import StorageConflictError, StorageSelectionError
from agentm_kernel.plugin import Author

NOTE = Locator("plans/note.md")


def opened(tmp_path, **options):
    store = GitStore(tmp_path / "clone", **options)
    make_clone(store.describe(), store.settings, os.environ)
    return store


@pytest.fixture
def store(tmp_path):
    return opened(tmp_path)


def said(store, *arguments):
    return git(store.describe(), *arguments).decode()


def files(store):
    return said(store, "ls-tree", "-r", "--name-only", "HEAD").split("\n")[:-1]


def test_a_note_is_committed_byte_for_byte(store):
    text = "\ufeffone\r\ntwo\rthree"
    store.write(NOTE, text)
    done = store.commit("first", AUTHORS, OCCASION)
    assert done.changed
    assert done.ref == said(store, "rev-parse", "main").strip()
    assert git(store.describe(), "show", f"main:{NOTE}") == text.encode()
    assert said(store, "status", "--porcelain") == ""
    assert fsck(store.describe()) == ""


def test_attributes_of_the_repository_change_no_byte(store):
    with open(os.path.join(store.describe(), ".gitattributes"), "w") as file:
        file.write("* text=auto eol=lf ident\n")
    store.write(NOTE, "one\r\n$Id$\r\n")
    store.commit("first", AUTHORS, OCCASION)
    assert git(store.describe(), "cat-file", "blob", f"main:{NOTE}") == b"one\r\n$Id$\r\n"


def test_nothing_to_commit_is_an_outcome(store):
    assert not store.has_changes()
    assert not store.commit("nothing", AUTHORS, OCCASION).changed
    store.write(NOTE, "one\n")
    assert store.has_changes()
    store.commit("first", AUTHORS, OCCASION)
    assert not store.has_changes()
    again = store.commit("nothing", AUTHORS, OCCASION)
    assert not again.changed
    assert again.ref == said(store, "rev-parse", "main").strip()


def test_edits_and_deletions_by_other_programs_are_committed(store):
    for key in ("a.md", "b.md"):
        store.write(Locator(key), "one\n")
    store.commit("first", AUTHORS, OCCASION)
    os.unlink(store.device_path(Locator("a.md")))
    with open(store.device_path(Locator("b.md")), "w") as file:
        file.write("edited\n")
    assert store.commit("second", AUTHORS, OCCASION).note == "2 files"
    assert files(store) == ["b.md"]


def test_the_first_author_is_the_author_and_the_others_are_named_in_the_message(store):
    store.write(NOTE, "one\n")
    people = (Author("Ana", "ana@example.com"), Author("Bob <x>\n", "bob@example.com", "co-author"))
    store.commit("Decide it\n\nBecause.", people, OCCASION)
    shown = said(store, "log", "-1", "--format=%an <%ae>|%cn|%B")
    co_author = "Co-authored-by: Bob x <bob@example.com>"
    assert shown.startswith(f"Ana <ana@example.com>|Ana|Decide it\n\nBecause.\n\n{co_author}")


def test_whoever_has_no_address_gets_the_default_one(tmp_path):
    store = opened(tmp_path, email="team@example.com")
    store.write(NOTE, "one\n")
    store.commit("first", (Author("Ana", "user-ana@noreply.agentm.invalid"),), OCCASION)
    assert said(store, "log", "-1", "--format=%an %ae").strip() == "Ana team@example.com"


def test_excluded_keys_are_in_no_commit_and_are_no_change(tmp_path):
    store = opened(tmp_path, is_excluded=lambda key: key.startswith("private/"))
    store.write(Locator("private/x.md"), "mine\n")
    assert not store.has_changes()
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    assert files(store) == [NOTE.key]


def test_what_gitignore_names_is_not_committed_and_is_reported(store):
    with open(os.path.join(store.describe(), ".gitignore"), "w") as file:
        file.write("*.tmp.md\n")
    store.write(Locator("x.tmp.md"), "one\n")
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    assert files(store) == [NOTE.key]
    assert store.clone.looked.ignored() == ["x.tmp.md"]


def test_notes_in_a_repository_of_its_own_inside_the_clone_are_reported(store):
    """Git does not look into it, and everything else would say that all is committed."""
    inner = os.path.join(store.describe(), "projects", "app")
    os.makedirs(inner)
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "of the inner one")
    store.write(Locator("projects/app/PLAN.md"), "one\n")
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    assert files(store) == [NOTE.key]
    assert store.clone.looked.ignored() == ["projects/app/"]


def test_what_this_user_may_not_read_is_reported(store, monkeypatch):
    """Git passes over it: a note that `sudo agentm save` made, once."""
    for key in ("plans/note.md", "plans/mine.md", "facts/x.md"):
        store.write(Locator(key), "one\n")
    access, scan = os.access, os.scandir

    def scan_what_one_may(path):
        if os.fspath(path).endswith("/facts"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("/note.md") and access(path, mode))
    monkeypatch.setattr(os, "scandir", scan_what_one_may)
    assert store.clone.looked.unread() == ["facts/", "plans/note.md"]


def test_files_that_no_key_can_name_are_left_to_the_operator(store):
    os.makedirs(os.path.join(store.describe(), ".github", "workflows"))
    for name in (".github/workflows/run.yml", ".envrc", ".gitignore"):
        with open(os.path.join(store.describe(), name), "w") as file:
            file.write("# run me\n")
    os.symlink("/etc/passwd", os.path.join(store.describe(), "link.md"))
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    assert files(store) == [NOTE.key]


def test_a_commit_after_every_write_has_that_note_alone(tmp_path):
    store = opened(tmp_path, commit="write")
    store.write(NOTE, "one\n")
    with open(store.device_path(Locator("other.md")), "w") as file:
        file.write("by hand\n")
    store.write(NOTE, "two\n")
    store.write(NOTE, "two\n")
    store.delete(NOTE)
    assert said(store, "log", "--format=%s").splitlines() == [f"agentm: {NOTE}"] * 3
    assert files(store) == []
    assert store.has_changes()


def test_a_commit_after_every_write_obeys_gitignore_too(tmp_path):
    store = opened(tmp_path, commit="write")
    with open(os.path.join(store.describe(), ".gitignore"), "w") as file:
        file.write("secret.md\n")
    store.write(Locator("secret.md"), "one\n")
    store.write(NOTE, "one\n")
    assert files(store) == [NOTE.key]


def test_threads_and_stores_on_one_clone_commit_one_after_the_other(tmp_path):
    stores = [opened(tmp_path) for _ in range(3)]

    def work(number):
        for count in range(5):
            stores[number].write(Locator(f"n{number}/{count}.md"), "x\n")
            stores[number].commit(f"{number} {count}", AUTHORS, OCCASION)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(files(stores[0])) == 15
    assert said(stores[0], "status", "--porcelain") == ""
    assert fsck(stores[0].describe()) == ""


# ------------------------------------------------------------------------------------------------ beside the operator


def test_the_index_is_made_anew_only_after_somebody_else_touched_it(store, monkeypatch):
    made = []
    store.write(NOTE, "one\n")
    store.commit("one", AUTHORS, OCCASION)
    real = store.clone.applier.reset_index
    monkeypatch.setattr(store.clone.applier, "reset_index", lambda *given: (made.append(given), real(*given)))

    store.write(NOTE, "two\n")
    store.commit("two", AUTHORS, OCCASION)
    assert made == []
    store.write(NOTE, "three\n")
    git(store.describe(), "add", "-A")
    store.commit("three", AUTHORS, OCCASION)
    assert len(made) == 1


def test_commits_that_the_operator_made_with_git_are_built_upon(store):
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    store.write(NOTE, "two\n")
    git(store.describe(), "add", "-A")
    git(store.describe(), "commit", "-q", "-m", "by hand")
    git(store.describe(), "pack-refs", "--all")
    store.write(NOTE, "three\n")
    store.commit("third", AUTHORS, OCCASION)
    assert said(store, "log", "--format=%s").splitlines() == ["third", "by hand", "first"]
    assert said(store, "status", "--porcelain") == ""


def test_what_the_operator_staged_and_is_no_note_stays_in_the_folder(store):
    store.write(NOTE, "one\n")
    with open(os.path.join(store.describe(), ".gitignore"), "w") as file:
        file.write("x\n")
    git(store.describe(), "add", "-A")
    store.commit("first", AUTHORS, OCCASION)
    assert files(store) == [NOTE.key]
    assert said(store, "status", "--porcelain") == "?? .gitignore\n"


@pytest.mark.parametrize(("begin", "word"), [("merge", "merge --abort"), ("rebase", "rebase --abort")])
def test_an_unfinished_merge_or_rebase_is_refused_with_the_command_that_ends_it(store, begin, word):
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    root = store.describe()
    git(root, "switch", "-q", "-c", "side")
    store_text(root, "side\n")
    git(root, "commit", "-q", "-a", "-m", "side")
    git(root, "switch", "-q", "main")
    store_text(root, "main\n")
    git(root, "commit", "-q", "-a", "-m", "main")
    git(root, begin, "side", check=False)
    with pytest.raises(StorageConflictError) as caught:
        store.commit("second", AUTHORS, OCCASION)
    assert word in caught.value.hint
    git(root, *word.split())
    assert not store.commit("second", AUTHORS, OCCASION).changed


def store_text(root, text):
    with open(os.path.join(root, NOTE.key), "w") as file:
        file.write(text)


def test_a_clone_on_another_branch_is_refused_with_the_command_that_goes_back(store):
    store.write(NOTE, "one\n")
    store.commit("first", AUTHORS, OCCASION)
    git(store.describe(), "switch", "-q", "-c", "other")
    with pytest.raises(StorageConflictError, match="is on other") as caught:
        store.commit("second", AUTHORS, OCCASION)
    assert "switch main" in caught.value.hint


def test_a_lock_that_the_operators_git_left_stops_no_commit(store):
    store.write(NOTE, "one\n")
    lock = os.path.join(store.describe(), ".git", "index.lock")
    open(lock, "w").close()
    assert store.commit("first", AUTHORS, OCCASION).changed
    assert os.path.exists(lock), "it is not ours to remove"
    os.unlink(lock)
    assert not store.has_changes()
    store.write(NOTE, "two\n")
    store.commit("second", AUTHORS, OCCASION)
    assert said(store, "status", "--porcelain") == ""


def test_a_folder_that_is_no_clone_is_refused_with_what_to_run(tmp_path):
    store = GitStore(tmp_path / "my notes")
    (tmp_path / "my notes").mkdir()
    store.write(NOTE, "one\n")
    with pytest.raises(StorageSelectionError, match="not a git repository") as caught:
        store.commit("first", AUTHORS, OCCASION)
    assert f"`agentm git init '{tmp_path / 'my notes'}'`" in caught.value.hint


@pytest.mark.parametrize(("name", "what"), [("shallow", "shallow"), ("reftable", "reftable")])
def test_repositories_of_another_format_are_refused(store, name, what):
    store.write(NOTE, "one\n")
    open(os.path.join(store.describe(), ".git", name), "w").close()
    with pytest.raises(StorageSelectionError, match=what):
        store.commit("first", AUTHORS, OCCASION)
