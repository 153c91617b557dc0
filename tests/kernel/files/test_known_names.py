"""A folder is listed once for several new notes, and again after any change that somebody else makes in it."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.files import known_names
from agentm_kernel.files.medium import CONFLICTS
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    Directory,
    FileStore,
    FolderNames,
    LocatorConflictError,
    content_hash,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    """What was listed stays good for as long as a test takes, on however slow a machine."""
    monkeypatch.setattr(known_names, "_GOOD_FOR", 1e9)
    (tmp_path / "notes").mkdir()
    store = FileStore(tmp_path)
    store.write(Locator("notes/first.md"), "1")
    return store


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gains an entry whenever a folder is listed."""
    counted: list[str] = []
    names = Directory.names

    def counting(directory: Directory) -> list[str]:
        counted.append("listed")
        return names(directory)

    monkeypatch.setattr(Directory, "names", counting)
    return counted


def test_many_new_notes_cost_no_further_listing(store: FileStore, listings: list[str]) -> None:
    for number in range(20):
        store.write(Locator(f"notes/{number}.md"), "x", if_match=ABSENT if number % 2 else None)
    assert listings == []


@pytest.mark.parametrize("name", ["FIRST.md", "Second.md"])
def test_our_own_names_are_known(store: FileStore, name: str) -> None:
    store.write(Locator("notes/second.md"), "2")
    with pytest.raises(LocatorConflictError, match="only in case"):
        store.write(Locator(f"notes/{name}"), "x")


def _by_another_program(folder: Path) -> None:
    (folder / "Plan.md").write_text("theirs")


def _by_another_process(folder: Path) -> None:
    code = (
        "import sys; from agentm_kernel import Locator; from agentm_kernel.plugin import FileStore; "
        "FileStore(sys.argv[1]).write(Locator('notes/Plan.md'), 'theirs')"
    )
    subprocess.run([sys.executable, "-c", code, str(folder.parent)], check=True)


def _by_another_store_of_this_process(folder: Path) -> None:
    FileStore(folder.parent).write(Locator("notes/Plan.md"), "theirs")


def _by_renaming(folder: Path) -> None:
    (folder / "first.md").rename(folder / "Plan.md")


def _with_the_times_put_back(folder: Path) -> None:
    """As `rsync -t` does."""
    before = folder.stat()
    (folder / "Plan.md").write_text("theirs")
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "make",
    [
        _by_another_program,
        _by_another_process,
        _by_another_store_of_this_process,
        _by_renaming,
        _with_the_times_put_back,
    ],
)
def test_a_name_that_somebody_else_made_is_seen_at_once(store: FileStore, tmp_path: Path, make) -> None:
    for number in range(3):
        store.write(Locator(f"notes/{number}.md"), "x")
        make(tmp_path / "notes")
        with pytest.raises(LocatorConflictError, match="only in case"):
            store.write(Locator("notes/plan.md"), "ours")
        (tmp_path / "notes" / "Plan.md").rename(tmp_path / "notes" / "first.md")


def test_a_name_that_was_deleted_is_free_again(store: FileStore, tmp_path: Path) -> None:
    store.write(Locator("notes/Plan.md"), "theirs")
    (tmp_path / "notes" / "Plan.md").unlink()
    store.write(Locator("notes/plan.md"), "ours")
    store.delete(Locator("notes/plan.md"))
    store.write(Locator("notes/PLAN.md"), "ours")


def _write_while_they_make(name: str, before: str, folder: Path, store: FileStore) -> None:
    """Write a note, and let another program make `name` just before we call `before` of its directory."""
    method = getattr(Directory, before)

    def beside(directory: Directory, *given: object) -> object:
        (folder / name).write_text("theirs")
        return method(directory, *given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Directory, before, beside)
        store.write(Locator("notes/second.md"), "2")


def test_what_comes_while_a_new_note_is_made_durable_is_seen_at_once(store: FileStore, tmp_path: Path) -> None:
    _write_while_they_make("Plan.md", "sync", tmp_path / "notes", store)
    with pytest.raises(LocatorConflictError, match="only in case"):
        store.write(Locator("notes/plan.md"), "ours")


def test_what_comes_before_our_mark_is_seen_after_a_while(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_while_they_make("Plan.md", "mark", tmp_path / "notes", store)
    monkeypatch.setattr(known_names, "time", SimpleNamespace(monotonic=lambda: 1e12))
    with pytest.raises(LocatorConflictError, match="only in case"):
        store.write(Locator("notes/plan.md"), "ours")


def test_what_comes_before_our_mark_is_neither_overwritten_nor_taken_for_absent(
    store: FileStore, tmp_path: Path
) -> None:
    """Nobody asked for the name: it was not among those that we know."""
    theirs = tmp_path / "notes" / "plan.md"
    plan = Locator("notes/plan.md")
    _write_while_they_make("plan.md", "mark", tmp_path / "notes", store)
    with pytest.raises(ConcurrentModificationError, match="exists already"):
        store.write(plan, "ours", if_match=ABSENT)
    assert theirs.read_text() == "theirs"

    store.delete(Locator("notes/second.md"))
    theirs.unlink()
    store.write(Locator("notes/third.md"), "3")
    _write_while_they_make("plan.md", "mark", tmp_path / "notes", store)
    store.write(plan, "newer", if_match=content_hash("theirs"))
    assert theirs.read_text() == "newer"

    store.delete(Locator("notes/second.md"))
    theirs.unlink()
    store.write(Locator("notes/fourth.md"), "4")
    _write_while_they_make("plan.md", "mark", tmp_path / "notes", store)
    store.write(plan, "ours")
    store.write(Locator("notes/fifth.md"), "5")
    assert theirs.read_text() == "ours"
    assert "theirs" in [store.read(info.locator) for info in store.walk(CONFLICTS) if not info.is_dir]


def test_a_folder_whose_times_cannot_be_set_is_listed_every_time(
    store: FileStore, listings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    for number in range(3):
        store.write(Locator(f"notes/{number}.md"), "x")
    assert len(listings) == 2  # the first was still known


def test_a_folder_whose_times_are_coarse_is_listed_every_time(
    store: FileStore, listings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAT keeps two seconds: there a change would not show."""
    utime = os.utime

    def coarse(place: int, *, ns: tuple[int, int]) -> None:
        utime(place, ns=(ns[0] // 2_000_000_000 * 2_000_000_000, ns[1] // 2_000_000_000 * 2_000_000_000))

    monkeypatch.setattr(os, "utime", coarse)
    for number in range(3):
        store.write(Locator(f"notes/{number}.md"), "x")
    assert len(listings) == 2


def test_many_folders_are_not_remembered_for_ever(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    for number in range(known_names._MOST_FOLDERS + 5):
        store.write(Locator(f"{number}/note.md"), "x")
    assert len(store._writer._names._folders) <= known_names._MOST_FOLDERS


@pytest.mark.parametrize(
    ("stored", "name", "clashes"),
    [
        ("Plan.md", "plan.md", True),
        ("a\u0308.md", "\u00e4.md", True),
        ("STRASSE.md", "stra\u00dfe.md", True),
        ("Plan.md", "Plan.md", False),
        ("Plan.md", "an.md", False),
        ("\u00e4.md", "a.md", False),
    ],
)
def test_names_clash_if_they_differ_in_case_or_form_only(stored: str, name: str, *, clashes: bool) -> None:
    listed, later = FolderNames(["other.md", stored]), FolderNames(["other.md"])
    later.add(stored)
    for names in (listed, later):
        assert names.clashing_with(name) == (stored if clashes else None)
        assert names.may_have(name) == (clashes or stored == name)
        assert not names.may_have("other.m")
        assert names.has_beginning("oth")
        assert not names.has_beginning("ther")
        assert not names.has_beginning("zz")
