"""Conflict copies are recognised by the names that sync tools give them, and nothing else is."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from agentm_obsidian_vault.conflicts import conflict_copy
from agentm_obsidian_vault.names import is_tool_file, may_be_copy, may_be_copy_of

if TYPE_CHECKING:
    from conftest import Device

DEVICES = ("hilap",)

# What the tools put behind `PLAN`, whatever else is in the folder.
UNMISTAKABLE = {
    "PLAN.sync-conflict-20260501-101112-ABCDEF7.md": "Syncthing",
    "PLAN.sync-conflict-20260501-101112.md": "Syncthing",
    "PLAN (Ada's conflicted copy 2026-05-01).md": "Dropbox",
    "PLAN (Ada Lovelace's MacBook Pro's conflicted copy 2026-05-01).md": "Dropbox",
    "PLAN (Ada\u2019s conflicted copy 2026-05-01).md": "Dropbox",
    "PLAN (Ada's conflicted copy 2026-05-01 (1)).md": "Dropbox",
    "PLAN (Ada's conflicted copy).md": "Dropbox",
    "PLAN (Case Conflict).md": "Dropbox",
    "PLAN (Case Conflict 1).md": "Dropbox",
    "PLAN (Unicode Encoding Conflict).md": "Dropbox",
    "PLAN (white space conflict).md": "Dropbox",
    "PLAN (Ada's white space conflict).md": "Dropbox",
    "PLAN (shared folder conflict).md": "Dropbox",
    "PLAN (Selective Sync Conflict).md": "Dropbox",
    "PLAN (conflicting copy).md": "Maestral",
    "PLAN (Sam's conflicting copy 2026-08-30).md": "Maestral",
    "PLAN (conflicted copy 2026-05-01 101112).md": "Nextcloud",
    "PLAN (conflicted copy ada 2026-05-01 101112).md": "Nextcloud",
    "PLAN (case clash from Ada on Laptop).md": "Nextcloud",
    "PLAN_conflict-20260501-101112.md": "ownCloud",
    "PLAN_conflict-ada-20260501-101112.md": "ownCloud",
    "PLAN (conflicted copy 2026-05-01).md": "a sync tool",
    "PLAN (conflicted copy 2026-05-01) - Laptop.md": "a sync tool",
    "PLAN (Conflicted copy ThinkPad-T14-G5 202605011129).md": "Obsidian Sync",
    "PLAN (SFConflict ada@example.com 2026-05-01-10-11-12).md": "Seafile",
    "PLAN (CONFLICT 20260501T101112).md": "FSNotes",
    "PLAN [conflicted].md": "pCloud",
    "PLAN (conflicted).md": "pCloud",
    "PLAN [conflicted 2].md": "pCloud",
    "PLAN [Conflict].md": "Google Drive",
    "PLAN [Conflict 3].md": "Google Drive",
    "PLAN.md.conflict1": "rclone",
    "PLAN.conflict2.md": "rclone",
    "PLAN.md..path1": "rclone",
    "PLAN.md..path2": "rclone",
    "PLAN-hilap-safeBackup-0001.md": "OneDrive",
}

# What people call notes as well: a copy only beside PLAN.md.
ORDINARY = {
    "PLAN (1).md": "Google Drive",
    "PLAN (12).md": "Google Drive",
    "Copy of PLAN.md": "Google Drive",
    "PLAN 2.md": "iCloud",
    "PLAN 17.md": "iCloud",
    "PLAN-2.md": "iCloud",
    "PLAN-DESKTOP-AB12CD3.md": "OneDrive",
    "PLAN-LAPTOP-AB12CD34.md": "OneDrive",
    "PLAN-DESKTOP-AB12CD3-2.md": "OneDrive",
    "PLAN-MacBook Pro de Charlyne.md": "OneDrive",
    "PLAN-MacBook Pro de Charlyne-10.md": "OneDrive",
    "PLAN-hilap.md": "OneDrive",
    "PLAN-hilap-3.md": "OneDrive",
}


def recognised(name: str, *beside: str) -> tuple[str, str] | None:
    found = conflict_copy(name, set(beside).__contains__, DEVICES)
    return (found.base, found.tool) if found else None


def ordinary_names() -> list[str]:
    with open(os.path.join(os.path.dirname(__file__), "ordinary_names.txt"), encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.mark.parametrize(("name", "tool"), UNMISTAKABLE.items())
def test_a_copy_is_recognised_whether_or_not_its_note_is_there(name: str, tool: str) -> None:
    assert recognised(name, name, "PLAN.md") == ("PLAN.md", tool)
    assert recognised(name, name) == ("PLAN.md", tool)


@pytest.mark.parametrize(("name", "tool"), ORDINARY.items())
def test_a_name_that_people_use_too_is_a_copy_only_beside_its_note(name: str, tool: str) -> None:
    assert recognised(name, name, "PLAN.md") == ("PLAN.md", tool)
    assert recognised(name, name) is None


@pytest.mark.parametrize("name", [*UNMISTAKABLE, *ORDINARY])
def test_the_quick_look_lets_every_copy_through(name: str) -> None:
    assert may_be_copy(name, DEVICES)
    assert may_be_copy(name.upper(), DEVICES)
    assert may_be_copy_of("PLAN.md", name, DEVICES)


@pytest.mark.parametrize("name", [*UNMISTAKABLE, *ORDINARY])
def test_case_does_not_matter(name: str) -> None:
    assert recognised(name.upper(), name.upper(), "PLAN.MD") is not None


def test_every_pattern_of_the_corpus_is_there() -> None:
    assert len(UNMISTAKABLE) + len(ORDINARY) >= 26


def test_none_of_200_ordinary_names_is_taken_for_a_copy_although_all_of_them_are_in_one_folder() -> None:
    names = ordinary_names()
    beside = set(names)
    assert len(beside) >= 200
    assert [name for name in names if conflict_copy(name, beside.__contains__, DEVICES)] == []
    assert [name for name in names if is_tool_file(name)] == []


def test_the_check_of_ordinary_names_can_fail() -> None:
    beside = {*ordinary_names(), "Chapter.md"}
    assert [name for name in sorted(beside) if conflict_copy(name, beside.__contains__, DEVICES)] == ["Chapter 2.md"]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("PLAN (1) (Ada's conflicted copy 2026-05-01).md", "PLAN.md"),
        ("PLAN (Ada's conflicted copy 2026-05-01) (1).md", "PLAN.md"),
        ("Copy of PLAN (2).md", "PLAN.md"),
        ("Copy of Copy of PLAN 2.md", "PLAN.md"),
        ("PLAN-hilap-hilap-hilap.md", "PLAN.md"),
        ("PLAN.sync-conflict-20260501-101112-ABCDEF7.sync-conflict-20260502-101112-ABCDEF7.md", "PLAN.md"),
        ("PLAN (1).md.conflict1", "PLAN.md"),
        ("2026-05-12 2.md", "2026-05-12.md"),
        ("PLAN-auth-DESKTOP-AB12CD3.md", "PLAN-auth.md"),
        ("PLAN-auth-my-own-host-safeBackup-0001.md", "PLAN-auth.md"),
    ],
)
def test_copies_of_copies_lead_to_the_note(name: str, base: str) -> None:
    found = recognised(name, name, "PLAN.md", "PLAN-auth.md", "2026-05-12.md")
    assert found is not None
    assert found[0] == base


@pytest.mark.parametrize(
    "name", ["2026-05-12.md", "note-00042.md", "ADR-0001.md", "PLAN-auth.md", "v1.2.md", "x86-64.md"]
)
def test_the_quick_look_spares_numbered_notes_the_long_one(name: str) -> None:
    assert not may_be_copy(name, DEVICES)


def test_a_copy_of_a_numbered_note_belongs_to_the_numbered_note() -> None:
    name = "Chapter 2 (Ada's conflicted copy 2026-05-01).md"
    assert recognised(name, name, "Chapter 2.md") == ("Chapter 2.md", "Dropbox")


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("2026-10.md", "2026.md"),
        ("2026-05-12.md", "2026-05.md"),
        ("Report (2026).md", "Report.md"),
        ("PLAN-auth.md", "PLAN.md"),
        ("PLAN-otherhost.md", "PLAN.md"),
        ("Report 2026.md", "Report.md"),
        ("Report-100.md", "Report.md"),
        ("Chapter 01.md", "Chapter.md"),
        ("v1-2.md", "v1.md"),
        ("PLAN (0).md", "PLAN.md"),
        ("PLAN 1.md", "PLAN.md"),
        (" (1).md", ".md"),
        ("Copy of .md", "PLAN.md"),
    ],
)
def test_dates_versions_and_names_of_plans_are_not_counters(name: str, beside: str) -> None:
    assert recognised(name, name, beside) is None


@pytest.mark.parametrize(
    "name", ["Makefile (1)", "Makefile.sync-conflict-20260501-101112-ABCDEF7", "Makefile.conflict1"]
)
def test_files_without_an_extension_have_copies_too(name: str) -> None:
    assert recognised(name, name, "Makefile") is not None


@pytest.mark.parametrize(
    "unit", ["-safeBackup-0001", " (1) 2-2", " (conflicted copy)", "Copy of ", "-hilap", ".conflict1"]
)
def test_a_hostile_name_is_answered_at_once(unit: str) -> None:
    start = time.monotonic()
    conflict_copy("a" + unit * (200 // len(unit)), lambda name: False, DEVICES)
    conflict_copy(unit * (200 // len(unit)) + "a", lambda name: True, DEVICES)
    assert time.monotonic() - start < 5  # exponential would take years


@given(st.text(max_size=60), st.sampled_from(["", ".md", ".txt"]))
def test_any_text_has_an_answer_and_a_copy_has_a_shorter_base(stem: str, extension: str) -> None:
    name = stem + extension
    found = conflict_copy(name, lambda other: True, DEVICES)
    if found is not None:
        assert 0 < len(found.base) < len(name)
        assert may_be_copy(name, DEVICES)
        assert may_be_copy_of(found.base, name, DEVICES)


@pytest.mark.parametrize(
    "name",
    [
        ".trash",
        ".stfolder",
        ".stversions",
        ".syncthing.PLAN.md.tmp",
        "~syncthing~PLAN.md.tmp",
        ".dropbox",
        ".dropbox.cache",
    ]
    + ["desktop.ini", "Desktop.ini", ".DS_Store", "Icon\r", "Thumbs.db", ".PLAN.md.icloud", ".tmp.drivedownload"]
    + [".tmp.driveupload", "~$PLAN.docx", "PLAN.md.partial", "PLAN.md.crdownload", "PLAN.md.abcdef12.partial"]
    + [".sync_8f3a.db", "._PLAN.md", ".PLAN.md.~1a2b", ".PLAN.md.swp", ".~lock.PLAN.odt#", "PLAN.md.part"],
)
def test_what_tools_keep_for_themselves_is_not_a_note(name: str) -> None:
    assert is_tool_file(name)


@pytest.mark.parametrize(
    "name", ["trash", ".hidden.md", "icon.md", "notes.icloud", "partial.md", "swap.swp", "~draft.md", "a~1.md"]
)
def test_names_that_only_resemble_them_are_notes(name: str) -> None:
    assert not is_tool_file(name)


PAGE = os.path.join(os.path.dirname(__file__), *[".."] * 3, "docs", "how-to", "obsidian-vault.md")


@pytest.mark.skipif(not os.path.exists(PAGE), reason="the wheel is tested without the documentation")
def test_the_table_names_only_tools_that_the_documentation_explains() -> None:
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    tools = {*UNMISTAKABLE.values(), *ORDINARY.values()} - {"a sync tool"}
    assert [tool for tool in sorted(tools) if not re.search(re.escape(tool), text)] == []


def test_a_conflict_copy_of_a_plan_is_mentioned_when_a_session_starts(device: Device) -> None:
    device.agentm("vault", "init", "~/notes", "--use")
    project = device.home / "widgets"
    (project / ".harness").mkdir(parents=True)
    written = device.agentm("state", "write", "PLAN.md", stdin="# Plan\n", cwd=project).stdout.strip()
    assert "Conflict copies" not in device.agentm("hook", "session-start", stdin="{}", cwd=project).stdout
    copy = written.replace("PLAN.md", "PLAN.sync-conflict-20261116-170500-ABCDEFG.md")
    with open(copy, "w") as file:
        file.write("# Plan of the other laptop\n")

    shown = device.agentm("hook", "session-start", stdin="{}", cwd=project).stdout

    (line,) = [line for line in shown.splitlines() if "Conflict copies of a plan" in line]
    assert "PLAN.sync-conflict-20261116-170500-ABCDEFG.md" in line
