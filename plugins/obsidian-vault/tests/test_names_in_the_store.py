"""What is not a note is neither listed nor read, and no note is made that would be taken for one of those."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    ABSENT,
    FileStore,
    InvalidLocatorError,
    LocatorConflictError,
    NotFoundError,
    StorageIOError,
)
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from pathlib import Path

COPIES = [
    "PLAN (Ada's conflicted copy 2026-05-01).md",
    "PLAN.sync-conflict-20260501-101112-ABCDEF7.md",
    "PLAN (Ada の競合コピー 2026-05-01).md",
    "PLAN-DESKTOP-AB12CD3.md",
    "PLAN-hilap.md",
]


def keys(vault: VaultBackend) -> list[str]:
    return [
        info.locator.key for info in vault.walk(Locator()) if not info.is_dir and info.locator.parts[0] != "_meta"
    ]


@pytest.mark.parametrize("name", COPIES)
def test_a_conflict_copy_is_not_part_of_the_store(vault: VaultBackend, root: Path, name: str) -> None:
    vault.write(Locator("notes/PLAN.md"), "mine")
    (root / "notes" / name).write_text("theirs")
    copy = Locator("notes").child(name)
    assert vault.list(Locator("notes")) == [Locator("notes/PLAN.md")]
    assert keys(vault) == ["notes/PLAN.md"]
    assert list(vault.foreign_entries(Locator())) == []
    assert not vault.exists(copy)
    for verb in (vault.read, vault.info, vault.delete):
        with pytest.raises(NotFoundError):
            verb(copy)
    assert (root / "notes" / name).read_text() == "theirs"


def test_no_file_of_a_folder_without_such_a_name_is_looked_at(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`agentm doctor` has two seconds for a vault of any size."""
    for key in ("many/a.md", "many/b.md", "many/deep/c.md", "few/PLAN.md", "caf\u00e9/d.md", "caf\u00e9/\u00e9.md"):
        vault.write(Locator(key), "mine")
    for place in ("few", "caf\u00e9"):
        (root / place / COPIES[1].replace("PLAN", "PLAN" if place == "few" else "d")).write_text("theirs")
    asked = []
    info = FileStore.info
    monkeypatch.setattr(FileStore, "info", lambda store, locator: asked.append(locator.key) or info(store, locator))
    walked = []
    walk = FileStore.walk
    monkeypatch.setattr(FileStore, "walk", lambda store, locator: walked.append(locator.key) or walk(store, locator))
    assert [conflict.base.key for conflict in find_conflicts(vault)] == ["caf\u00e9/d.md", "few/PLAN.md"]
    assert sorted(key for key in walked if not key.startswith("_meta")) == ["caf\u00e9", "few"]
    assert [key for key in asked if key.endswith(".md")] == []  # a folder is looked at once, however much is in it


def test_a_folder_that_fails_to_be_read_is_an_error(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write(Locator("shut/PLAN.md"), "mine")
    scan = os.scandir

    def fails(path: object) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", fails)
    with pytest.raises(StorageIOError, match="shut cannot be read: Permission denied"):
        find_conflicts(vault)


@pytest.mark.parametrize("if_match", [None, ABSENT])
@pytest.mark.parametrize("name", COPIES)
def test_no_note_is_written_under_the_name_of_a_conflict_copy(
    vault: VaultBackend, root: Path, name: str, if_match: object
) -> None:
    vault.write(Locator("PLAN.md"), "mine")
    with pytest.raises(InvalidLocatorError, match="sync tool"):
        vault.write(Locator(name), "x", if_match=if_match)  # type: ignore[arg-type]
    (root / name).write_text("theirs")
    for verb in (vault.write, vault.append):
        with pytest.raises(InvalidLocatorError, match="sync tool"):
            verb(Locator(name), "x")
    assert (root / name).read_text() == "theirs"


def test_an_ordinary_name_is_a_note_as_long_as_it_is_nobody_s_copy(vault: VaultBackend) -> None:
    vault.write(Locator("Chapter 2.md"), "two")
    assert vault.read(Locator("Chapter 2.md")) == "two"
    assert vault.list(Locator()) == [Locator("Chapter 2.md"), Locator("_meta")]


def test_a_new_note_does_not_turn_another_one_into_its_copy(vault: VaultBackend) -> None:
    vault.write(Locator("Chapter-hilap.md"), "two")
    with pytest.raises(LocatorConflictError, match=r"Chapter-hilap\.md"):
        vault.write(Locator("Chapter.md"), "all")
    assert vault.read(Locator("Chapter-hilap.md")) == "two"
    assert not vault.exists(Locator("Chapter.md"))


def test_200_ordinary_names_beside_their_bases_are_all_notes(vault: VaultBackend) -> None:
    names = names_beside_their_bases()
    assert len(names) >= 200
    for name in sorted({*names, *names.values()}):
        vault.write(Locator(name), f"The text of {name}.\n")
    assert sorted(keys(vault)) == sorted({*names, *names.values()})
    for name in names:
        assert vault.read(Locator(name)) == f"The text of {name}.\n"
        vault.write(Locator(name), "another text")
    found = find_conflicts(vault)
    assert [conflict.copy.locator.key for conflict in found if not conflict.is_suspect] == []
    assert len(found) > 100


def names_beside_their_bases() -> dict[str, str]:
    """Names that people give, each with a base that they may well have too."""
    words = [
        "Sprint",
        "Python",
        "notes",
        "adr",
        "Chapter",
        "Meeting",
        "Release notes",
        "todo",
        "PLAN-phase",
        "v",
        "Q&A",
    ]
    words += [
        "progress-phase",
        "Kapitel",
        "会議",
        "Réunion",
        "api",
        "journal",
        "log",
        "Week",
        "Draft",
        "PLAN",
        "idea",
    ]
    marks = [" 2", " 12", "-2", "-10", " (1)", " (2)", " - Copy", " (conflicted)", " [Conflict]", "-macbook"]
    named = {f"{word}{mark}.md": f"{word}.md" for word in words for mark in marks}
    return named | {f"Copy of {word}.md": f"{word}.md" for word in words}


@pytest.mark.parametrize(
    "name", ["notes 2", "notes (1)", "notes (Ada's conflicted copy 2026-05-01)", "Copy of notes"]
)
def test_a_folder_is_never_a_copy_so_no_note_in_it_is_out_of_sight(
    vault: VaultBackend, root: Path, name: str
) -> None:
    vault.write(Locator("notes/a.md"), "one")
    (root / name).mkdir()
    (root / name / "a.md").write_text("two")
    other = Locator(name).child("a.md")
    assert sorted(keys(vault)) == sorted(["notes/a.md", other.key])
    vault.write(other, "three")
    assert vault.read(other) == "three"


def test_a_note_whose_copies_are_there_already_can_come_back(vault: VaultBackend, root: Path) -> None:
    (root / "PLAN (Ada's conflicted copy 2026-05-01).md").write_text("theirs")
    vault.write(Locator("PLAN.md"), "mine", if_match=ABSENT)
    assert vault.read(Locator("PLAN.md")) == "mine"


@pytest.mark.parametrize(
    "name",
    [".trash", ".syncthing.a.md.tmp", "~syncthing~a.md.tmp", "desktop.ini", ".DS_Store", "Thumbs.db"]
    + [".tmp.driveupload", "~$a.docx", "a.md.partial", "a.md.crdownload", "._a.md"],
)
def test_files_of_tools_are_not_part_of_the_store(vault: VaultBackend, root: Path, name: str) -> None:
    (root / name).write_text("theirs")
    assert vault.list(Locator()) == [Locator("_meta")]
    assert list(vault.foreign_entries(Locator())) == []
    assert not vault.exists(Locator(name))
    for key in (name, f"{name}/a.md", f"sub/{name}"):
        with pytest.raises((InvalidLocatorError, LocatorConflictError)):
            vault.write(Locator(key), "x")
    assert (root / name).read_text() == "theirs"


def test_what_lies_in_a_tool_s_folder_is_not_reached(vault: VaultBackend, root: Path) -> None:
    (root / ".trash").mkdir()
    (root / ".trash" / "a.md").write_text("deleted in Obsidian")
    assert keys(vault) == []
    assert vault.list(Locator(".trash")) == []
    with pytest.raises(NotFoundError):
        vault.read(Locator(".trash/a.md"))


def test_obsidian_s_own_folder_is_refused_by_the_seam(vault: VaultBackend, root: Path) -> None:
    (root / ".obsidian").mkdir()
    with pytest.raises(InvalidLocatorError):
        Locator(".obsidian/app.json")
    assert vault.list(Locator()) == [Locator("_meta")]


def test_a_name_no_key_can_have_is_reported_aside(vault: VaultBackend, root: Path) -> None:
    (root / "a:b.md").write_text("x")
    assert list(vault.foreign_entries(Locator())) == ["a:b.md"]
    (root / "a (1).md").write_text("x")
    (root / "a.md").write_text("x")
    assert list(vault.foreign_entries(Locator())) == ["a:b.md"]


# ------------------------------------------------------------------------------------------------ iCloud's old stubs


def test_a_note_of_which_only_the_stub_is_here_is_listed_and_not_missing(vault: VaultBackend, root: Path) -> None:
    (root / ".note.md.icloud").write_bytes(b"bplist00")
    note = Locator("note.md")
    assert vault.list(Locator()) == [Locator("_meta"), note]
    assert keys(vault) == ["note.md"]
    for verb in (vault.read, vault.info, vault.exists, vault.delete):
        with pytest.raises(StorageIOError, match="not on this device yet"):
            verb(note)
    for if_match in (None, ABSENT):
        with pytest.raises(StorageIOError, match="not on this device yet"):
            vault.write(note, "x", if_match=if_match)
    assert [path.name for path in root.iterdir() if path.is_file()] == [".note.md.icloud"]


def test_a_stub_is_seen_by_the_second_of_two_new_notes(vault: VaultBackend, root: Path) -> None:
    """Which takes the names beside it from the first one's list."""
    (root / ".note.md.icloud").write_bytes(b"bplist00")
    vault.write(Locator("other.md"), "x")
    with pytest.raises(StorageIOError, match="not on this device yet"):
        vault.write(Locator("note.md"), "x")
    assert not (root / "note.md").exists()


def test_a_stub_beside_its_note_is_passed_over(vault: VaultBackend, root: Path) -> None:
    vault.write(Locator("note.md"), "here")
    (root / ".note.md.icloud").write_bytes(b"bplist00")
    assert vault.list(Locator()) == [Locator("_meta"), Locator("note.md")]
    assert vault.read(Locator("note.md")) == "here"
    assert list(vault.foreign_entries(Locator())) == []
