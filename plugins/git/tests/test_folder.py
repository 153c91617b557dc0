"""The files of a clone, seen from git: which are notes, and how they change without a lost edit."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_git.changes import Change
from agentm_git.folder import Folder, beside, blob_id, is_in, kept_place, locator_of
from agentm_kernel.errors import ConcurrentModificationError, LocatorConflictError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path), lambda key: key.startswith("private/"), ("/plans/", "notes/deep"))


def write(folder: Folder, name: str, data: bytes) -> None:
    path = os.path.join(folder.root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def kept(folder: Folder) -> list[bytes]:
    found = []
    for parent, _, names in os.walk(os.path.join(folder.root, "_meta", "conflicts")):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                found.append(file.read())
    return sorted(found)


@pytest.mark.parametrize(
    ("path", "is_note"),
    [("a.md", True), ("private/a.md", False), (".envrc", False), ("a//b", False), ("\udcff", False)],
)
def test_a_note_is_what_a_key_can_spell_and_no_policy_excludes(folder: Folder, path: str, is_note: bool) -> None:
    assert folder.is_note(path) is is_note
    assert folder.excluded([path, "b.md"]) == ([path] if path.startswith("private/") else [])


@pytest.mark.parametrize(
    ("path", "mode", "is_wanted"),
    [
        ("plans/a.md", "100644", True),
        ("plans/a.md", "100755", True),
        ("plans/a.md", "120000", False),
        ("plans/a.md", "160000", False),
        ("plans", "100644", True),
        ("plans2/a.md", "100644", False),
        ("notes/a.md", "100644", False),
        ("notes/deep/a.md", "100644", True),
        ("_meta/store.json", "100644", True),
        ("private/a.md", "100644", False),
    ],
)
def test_only_files_of_the_wanted_parts_come_into_the_folder(
    folder: Folder, path: str, mode: str, is_wanted: bool
) -> None:
    assert folder.is_wanted(path, mode) is is_wanted


def test_without_parts_everything_is_wanted(tmp_path: Path) -> None:
    assert is_in((), "any/thing.md")
    assert Folder(str(tmp_path)).is_wanted("any/thing.md", "100644")
    assert Folder(str(tmp_path)).excluded(["any/thing.md"]) == []


@pytest.mark.parametrize(("path", "key"), [("a/b.md", "a/b.md"), ("a/", None), ("..", None), ("a\\b", None)])
def test_a_path_that_is_spelled_otherwise_than_its_key_has_none(path: str, key: str | None) -> None:
    found = locator_of(path)
    assert (None if found is None else found.key) == key


def test_bytes_have_the_name_that_git_gives_them(tmp_path: Path) -> None:
    for data in (b"", b"one\r\n\0"):
        said = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True).stdout
        assert blob_id(data) == said.decode().strip()


def test_versions_that_lost_have_names_that_tell_of_what(folder: Folder) -> None:
    digest = "0123456789abcdef" * 2
    assert beside("plans/plan.md", digest) == "plans/plan (conflict 01234567).md"
    assert kept_place("plans/plan.md", digest).startswith("_meta/conflicts/plans/plan.md/kept-0123")


# ------------------------------------------------------------------------------------------------ changing


def test_a_file_is_there_or_not_and_has_exactly_some_bytes_or_not(folder: Folder) -> None:
    write(folder, "plans/a.md", b"one\n")
    assert [folder.has(path) for path in ("plans/a.md", "plans", "plans/b.md")] == [True, False, False]
    assert folder.is_like("plans/a.md", b"one\n")
    assert not folder.is_like("plans/a.md", b"one")
    assert (folder.content("plans/a.md"), folder.content("plans/b.md")) == (b"one\n", None)


def test_what_was_seen_is_replaced_and_an_edit_since_is_put_aside(folder: Folder) -> None:
    folder.replace("a.md", b"new\n", None)
    folder.replace("a.md", b"newer\n", b"new\n")
    assert (folder.content("a.md"), kept(folder)) == (b"newer\n", [])
    write(folder, "a.md", b"an edit\n")
    folder.replace("a.md", b"newest\n", b"newer\n")
    assert (folder.content("a.md"), kept(folder)) == (b"newest\n", [b"an edit\n"])
    os.unlink(os.path.join(folder.root, "a.md"))
    folder.replace("a.md", b"again\n", b"newest\n")
    assert (folder.content("a.md"), kept(folder)) == (b"again\n", [b"an edit\n"])


def test_somebody_who_edits_without_a_pause_is_not_overwritten(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", b"0\n")
    real, count = folder.content, iter(range(1, 100))

    def edited(path: str) -> bytes | None:
        found = real(path)
        write(folder, "a.md", b"%d\n" % next(count))
        return found

    monkeypatch.setattr(folder, "content", edited)
    with pytest.raises(ConcurrentModificationError):
        folder.replace("a.md", b"mine\n", b"seen\n")
    assert real("a.md") == b"10\n"
    assert kept(folder) == sorted(b"%d\n" % number for number in range(10))


def test_an_empty_folder_gives_way_to_a_note_and_a_full_one_does_not(folder: Folder) -> None:
    os.makedirs(os.path.join(folder.root, "empty"))
    folder.replace("empty", b"a note\n", None)
    assert folder.content("empty") == b"a note\n"
    write(folder, "full/a.md", b"one\n")
    with pytest.raises(LocatorConflictError):
        folder.replace("full", b"a note\n", None)
    assert folder.content("full/a.md") == b"one\n"


def test_a_note_goes_only_as_it_was_seen(folder: Folder) -> None:
    write(folder, "a.md", b"edited\n")
    folder.remove("a.md", b"seen\n")
    assert folder.content("a.md") == b"edited\n"
    folder.remove("a.md", b"edited\n")
    assert folder.content("a.md") is None
    folder.remove("a.md", b"edited\n")


def test_a_version_is_put_aside_under_its_own_name_once(folder: Folder) -> None:
    first = folder.put_aside("a.md", b"lost\n")
    assert first == kept_place("a.md", blob_id(b"lost\n"))
    assert folder.put_aside("a.md", b"lost\n") == first
    assert kept(folder) == [b"lost\n"]
    write(folder, first, b"taken over\n")
    second = folder.put_aside("a.md", b"lost\n")
    assert second != first
    assert kept(folder) == [b"lost\n", b"taken over\n"]


@pytest.mark.parametrize(
    ("code", "what", "is_staged"),
    [
        ("??", "new", False), ("A ", "new", True), (" M", "changed", False), ("M ", "changed", True),
        (" D", "deleted", False), ("D ", "deleted", True), ("AD", "deleted", True), ("!!", "changed", False),
    ],
)  # fmt: skip
def test_a_change_is_said_in_a_word(code: str, what: str, is_staged: bool) -> None:
    change = Change(code, "a.md")
    assert (change.what, change.is_staged) == (what, is_staged)
