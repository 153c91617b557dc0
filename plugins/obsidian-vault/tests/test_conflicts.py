"""Conflict copies are recognised by the names that sync tools give them, and nothing else is."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from agentm_kernel.plugin import FolderNames
from agentm_kernel.state.plans import _is_plan
from agentm_obsidian_vault.conflicts import conflict_copy, suspect_copy
from agentm_obsidian_vault.names import is_tool_file, may_be_copies_of, may_be_copy

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
    "PLAN (Case Conflict 1).md": "Dropbox",
    "PLAN (Unicode Encoding Conflict).md": "Dropbox",
    "PLAN (Ada's white space conflict).md": "Dropbox",
    "PLAN (Selective Sync Conflict).md": "Dropbox",
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
    "PLAN.md.conflict1": "rclone",
    "PLAN.conflict2.md": "rclone",
    "PLAN.md..path1": "rclone",
    "PLAN.md..path2": "rclone",
    "PLAN-hilap-safeBackup-0001.md": "OneDrive",
    "PLAN (Adas in Konflikt stehende Kopie 2026-05-01).md": "Dropbox",
    "PLAN (In Konflikt stehende Kopie von Ada 2026-05-01).md": "Dropbox",
    "PLAN (In Konflikt stehende Kopie von Adas Rechner).md": "Dropbox",
    "PLAN (Copie en conflit de Ada 2026-05-01).md": "Dropbox",
    "PLAN (Copie en conflit de MacBook-Pro-de-Ada 2026-05-01 (1)).md": "Dropbox",
    "PLAN (Copia en conflicto de Ada 2026-05-01).md": "Dropbox",
    "PLAN (Copia conflictiva de Ada 2026-05-01).md": "Dropbox",
    "PLAN (Copia in conflitto di Ada 2026-05-01).md": "Dropbox",
    "PLAN (Cópia em conflito de Ada 2026-05-01).md": "Dropbox",
    "PLAN (Ada の競合コピー 2026-05-01).md": "Dropbox",
    "PLAN (Ada 上の問題のあるコピー 2026-05-01).md": "Dropbox",
    "PLAN (Ada 的冲突副本 2026-05-01).md": "Dropbox",
    "PLAN (Ada 的衝突複本 2026-05-01).md": "Dropbox",
    "PLAN（Ada 的冲突副本 2026-05-01）.md": "Dropbox",
}

# What only a tool writes, and only where the note is: a copy beside PLAN.md.
BESIDE = {
    "PLAN-DESKTOP-AB12CD3.md": "OneDrive",
    "PLAN-LAPTOP-AB12CD34.md": "OneDrive",
    "PLAN-DESKTOP-AB12CD3-2.md": "OneDrive",
    "PLAN-hilap.md": "OneDrive",
    "PLAN-hilap-3.md": "OneDrive",
}

# What people call notes as well: a suspect beside Note.md.
ORDINARY = {
    "Note (1).md": "Google Drive",
    "Note (12).md": "Google Drive",
    "Copy of Note.md": "Google Drive",
    "Note [Conflict].md": "Google Drive",
    "Note [Conflict 3].md": "Google Drive",
    "Note 2.md": "iCloud",
    "Note 17.md": "iCloud",
    "Note-2.md": "iCloud",
    "Note-MacBook Pro de Charlyne.md": "OneDrive",
    "Note-MacBook Pro de Charlyne-10.md": "OneDrive",
    "Note-Charlyne的MacBook Pro.md": "OneDrive",
    "Note - Kopie.md": "OneDrive",
    "Note - コピー.md": "OneDrive",
    "Note [conflicted].md": "pCloud",
    "Note (conflicted).md": "pCloud",
    "Note [conflicted 2].md": "pCloud",
    "Note (Case Conflict).md": "Dropbox",
    "Note (white space conflict).md": "Dropbox",
    "Note (shared folder conflict).md": "Dropbox",
    "Note (Copie en conflit).md": "Dropbox",
    "Note (conflicting copy).md": "Maestral",
    "Note (the conflicted copy problem).md": "a sync tool",
}


def recognised(name: str, *beside: str) -> tuple[str, str] | None:
    found = conflict_copy(name, set(beside).__contains__, DEVICES)
    return (found.base, found.tool) if found else None


def suspected(name: str, *beside: str) -> tuple[str, str] | None:
    found = suspect_copy(name, set(beside).__contains__, DEVICES)
    return (found.base, found.tool) if found else None


def ordinary_names() -> list[str]:
    with open(os.path.join(os.path.dirname(__file__), "ordinary_names.txt"), encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.mark.parametrize(("name", "tool"), UNMISTAKABLE.items())
def test_a_copy_is_recognised_whether_or_not_its_note_is_there(name: str, tool: str) -> None:
    assert recognised(name, name, "PLAN.md") == ("PLAN.md", tool)
    assert recognised(name, name) == ("PLAN.md", tool)


@pytest.mark.parametrize(("name", "tool"), BESIDE.items())
def test_the_name_of_a_device_makes_a_copy_beside_the_note(name: str, tool: str) -> None:
    assert recognised(name, name, "PLAN.md") == ("PLAN.md", tool)
    assert recognised(name, name) is None


@pytest.mark.parametrize(("name", "tool"), ORDINARY.items())
def test_a_name_that_people_use_too_is_a_suspect_beside_its_note(name: str, tool: str) -> None:
    assert recognised(name, name, "Note.md") is None
    assert suspected(name, name, "Note.md") == ("Note.md", tool)
    assert suspected(name, name) is None


@pytest.mark.parametrize("name", [*UNMISTAKABLE, *BESIDE])
def test_what_is_a_copy_is_no_suspect(name: str) -> None:
    assert suspected(name, name, "PLAN.md") is None


@pytest.mark.parametrize(
    "name", ["PLAN-phase-2.md", "progress-phase-2.md", "PLAN-2.md", "PLAN-auth-10.md", "PLAN-imac.md"]
)
def test_a_plan_is_never_a_copy_of_another_plan(name: str) -> None:
    beside = (name, "PLAN.md", "PLAN-phase.md", "progress-phase.md", "PLAN-auth.md")
    assert recognised(name, *beside) is None
    assert suspected(name, *beside) is None


def test_the_kernel_s_own_list_agrees() -> None:
    """Folders that are no vault have only the kernel's marks."""
    plans = [name.replace("PLAN", "PLAN-phase") for name in UNMISTAKABLE if name.endswith(".md")]
    assert [name for name in plans if _is_plan(name)] == []
    ordinary = [name for name in ordinary_names() if name.startswith("PLAN")]
    assert [name for name in ordinary if not _is_plan(name)] == ["PLAN.archive.20260501-2010.md"]
    assert _is_plan("PLAN-phase-2.md")


@pytest.mark.parametrize("name", [*UNMISTAKABLE, *BESIDE])
def test_the_quick_look_lets_every_copy_through(name: str) -> None:
    assert may_be_copy(name, DEVICES)
    assert may_be_copy(name.upper(), DEVICES)
    assert may_be_copies_of("PLAN.md", FolderNames([name, "other.md"]), DEVICES) == [name]


@pytest.mark.parametrize("name", [*UNMISTAKABLE, *BESIDE])
def test_case_does_not_matter(name: str) -> None:
    assert recognised(name.upper(), name.upper(), "PLAN.MD") is not None


def test_every_pattern_of_the_corpus_is_there() -> None:
    assert len(UNMISTAKABLE) + len(BESIDE) >= 26


def test_none_of_200_ordinary_names_is_taken_for_a_copy_although_all_of_them_are_in_one_folder() -> None:
    names = ordinary_names()
    beside = set(names)
    assert len(beside) >= 200
    assert [name for name in names if conflict_copy(name, beside.__contains__, DEVICES)] == []
    assert [name for name in names if is_tool_file(name)] == []


def test_the_check_of_ordinary_names_can_fail() -> None:
    copy = "Chapter 2 (Ada's conflicted copy 2026-05-01).md"
    beside = {*ordinary_names(), copy}
    assert [name for name in sorted(beside) if conflict_copy(name, beside.__contains__, DEVICES)] == [copy]


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
    beside = (name, "PLAN.md", "PLAN-auth.md", "2026-05-12.md")
    found = recognised(name, *beside) or suspected(name, *beside)
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
    assert suspected(name, name, beside) is None


@pytest.mark.parametrize(
    "name", ["Makefile (1)", "Makefile.sync-conflict-20260501-101112-ABCDEF7", "Makefile.conflict1"]
)
def test_files_without_an_extension_have_copies_too(name: str) -> None:
    assert recognised(name, name, "Makefile") or suspected(name, name, "Makefile")


@pytest.mark.parametrize(
    "unit", ["-safeBackup-0001", " (1) 2-2", " (conflicted copy)", "Copy of ", "-hilap", ".conflict1"]
)
def test_a_hostile_name_is_answered_at_once(unit: str) -> None:
    start = time.monotonic()
    conflict_copy("a" + unit * (200 // len(unit)), lambda name: False, DEVICES)
    conflict_copy(unit * (200 // len(unit)) + "a", lambda name: True, DEVICES)
    suspect_copy("a" + unit * (200 // len(unit)), lambda name: False, DEVICES)
    assert time.monotonic() - start < 5  # exponential would take years


@given(st.text(max_size=60), st.sampled_from(["", ".md", ".txt"]))
def test_any_text_has_an_answer_and_a_copy_has_a_shorter_base(stem: str, extension: str) -> None:
    name = stem + extension
    found = conflict_copy(name, lambda other: True, DEVICES)
    if found is not None:
        assert 0 < len(found.base) < len(name)
        assert may_be_copy(name, DEVICES)
        assert may_be_copies_of(found.base, FolderNames([name]), DEVICES)


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
    tools = {*UNMISTAKABLE.values(), *BESIDE.values(), *ORDINARY.values()} - {"a sync tool"}
    assert [tool for tool in sorted(tools) if not re.search(re.escape(tool), text)] == []


def test_a_conflict_copy_of_a_plan_is_mentioned_when_a_session_starts(device: Device) -> None:
    device.agentm("vault", "init", "~/notes", "--use", "--create")
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


def test_the_quick_look_never_misses_what_the_patterns_find():
    """`may_be_copy` and `may_be_suspect` spare the patterns: whatever those find, one of them lets through."""
    from agentm_obsidian_vault.survey import _candidates

    bases = ["PLAN.md", "Notes of May.md", "todo", "über uns.md", "notes.md", "x.y.md"]
    marks = [
        " 2", "-3", " (1)", " (12)", " - Copy", " - Kopie (2)", " [Conflict]", " [Conflict 3]", " [conflicted]",
        " (conflicted 2)", "-Ada's MacBook Pro", "-iMac-2", " (conflicting copy)", " (conflicted copy)",
        " (case conflict)", " (Copie en conflit)", ".sync-conflict-20260501-101112-ABCDEFG", ".conflict1", "..path1",
        " (Ada's conflicted copy 2026-05-01)", "-DESKTOP-ABC1234", "-atlas",
    ]  # fmt: skip
    seen = 0
    for base in bases:
        stem, dot, extension = base.rpartition(".") if "." in base else (base, "", "")
        for mark in marks:
            for name in {f"{stem}{mark}{dot}{extension}", f"{base}{mark}", f"Copy of {base}"}:
                folder = {base, name}
                known = conflict_copy(name, folder.__contains__, ("atlas",))
                known = known or suspect_copy(name, folder.__contains__, ("atlas",))
                if known:
                    seen += 1
                    assert name in _candidates(folder, ("atlas",)), name
    assert seen > 150
