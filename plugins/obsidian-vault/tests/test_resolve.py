"""Settling a conflict: one version is the note, the other one is kept, and nothing happens behind anyone's back."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import ConcurrentModificationError, LocatorConflictError, StorageIOError
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.resolve import BOTH, MINE, THEIRS, UNION, settle
from agentm_obsidian_vault.survey import Conflict, find_conflicts

if TYPE_CHECKING:
    from pathlib import Path

PROGRESS = Locator("p/progress.md")
COPY = "progress (Ada's conflicted copy 2026-05-01).md"


@pytest.fixture
def conflict(vault: VaultBackend, root: Path) -> Conflict:
    vault.write(PROGRESS, "- start\n- mine\n")
    (root / "p" / COPY).write_text("- start\n- theirs\n")
    (found,) = find_conflicts(vault)
    return found


def kept(root: Path) -> list[str]:
    return sorted(path.read_text() for path in (root / "_meta" / "conflicts").rglob("*") if path.is_file())


def test_a_conflict_names_the_note_the_tool_and_both_sizes(vault: VaultBackend, conflict: Conflict) -> None:
    assert conflict.base == PROGRESS
    assert conflict.copy.locator == Locator("p").child(COPY)
    assert conflict.tool == "Dropbox"
    assert conflict.base_info is not None
    assert (conflict.base_info.size, conflict.copy.size) == (15, 17)
    assert not conflict.is_plan


@pytest.mark.parametrize(
    ("choice", "note", "losers"),
    [
        (MINE, "- start\n- mine\n", ["- start\n- theirs\n"]),
        (THEIRS, "- start\n- theirs\n", ["- start\n- mine\n"]),
        (UNION, "- start\n- mine\n- theirs\n", ["- start\n- theirs\n"]),
        (BOTH, "- start\n- mine\n", []),
    ],
)
def test_the_chosen_version_is_the_note_and_the_other_is_kept(
    vault: VaultBackend, root: Path, conflict: Conflict, choice: str, note: str, losers: list[str]
) -> None:
    assert settle(vault, vault, conflict, choice)
    assert vault.read(PROGRESS) == note
    assert kept(root) == losers
    assert not (root / "p" / COPY).exists()
    assert find_conflicts(vault) == []


def test_both_makes_the_copy_a_note_of_its_own(vault: VaultBackend, conflict: Conflict) -> None:
    settle(vault, vault, conflict, BOTH)
    other = next(child for child in vault.list(Locator("p")) if child != PROGRESS)
    assert vault.read(other) == "- start\n- theirs\n"


def test_a_choice_that_was_cut_off_before_the_copy_went_is_made_again(
    vault: VaultBackend, root: Path, conflict: Conflict
) -> None:
    settle(vault, vault, conflict, BOTH)
    before = vault.list(Locator("p"))
    (root / "p" / COPY).write_text("- start\n- theirs\n")
    settle(vault, vault, conflict, BOTH)
    assert vault.list(Locator("p")) == before
    assert find_conflicts(vault) == []


@pytest.mark.parametrize("choice", [MINE, THEIRS, BOTH, UNION])
def test_a_copy_that_says_the_same_just_goes(
    vault: VaultBackend, root: Path, conflict: Conflict, choice: str
) -> None:
    (root / "p" / COPY).write_text("- start\n- mine\n")
    settle(vault, vault, conflict, choice)
    assert find_conflicts(vault) == []
    assert kept(root) == []
    assert vault.list(Locator("p")) == [PROGRESS]


@pytest.mark.parametrize("choice", [MINE, THEIRS, BOTH, UNION])
def test_a_note_that_is_gone_comes_back_from_its_copy(
    vault: VaultBackend, root: Path, conflict: Conflict, choice: str
) -> None:
    vault.delete(PROGRESS)
    (found,) = find_conflicts(vault)
    assert found.base_info is None
    settle(vault, vault, found, choice)
    assert vault.read(PROGRESS) == "- start\n- theirs\n"
    assert find_conflicts(vault) == []


@pytest.mark.parametrize("name", ["PLAN.md", "PLAN-auth.md"])
def test_a_plan_is_never_merged_by_a_rule(vault: VaultBackend, root: Path, name: str) -> None:
    vault.write(Locator(name), "mine")
    (root / f"{name}.conflict1").write_text("theirs")
    (found,) = find_conflicts(vault)
    assert found.is_plan
    with pytest.raises(LocatorConflictError, match="is a plan"):
        settle(vault, vault, found, UNION)
    assert (root / f"{name}.conflict1").read_text() == "theirs"


def test_a_note_that_does_not_only_grow_is_not_merged_by_a_rule(vault: VaultBackend, root: Path) -> None:
    vault.write(Locator("note.md"), "mine")
    (root / "note.sync-conflict-20260501-101112-ABCDEF7.md").write_text("theirs")
    (found,) = find_conflicts(vault)
    with pytest.raises(LocatorConflictError, match="only grows"):
        settle(vault, vault, found, UNION)


def test_a_note_that_changes_meanwhile_is_not_overwritten(
    vault: VaultBackend, root: Path, conflict: Conflict
) -> None:
    from agentm_obsidian_vault import resolve

    real = resolve._keep

    def keep_while_the_client_writes(*args: object) -> Locator:
        (root / "p" / "progress.md").write_text("- another\n")
        return real(*args)  # type: ignore[arg-type]

    with (
        mock.patch.object(resolve, "_keep", keep_while_the_client_writes),
        pytest.raises(ConcurrentModificationError),
    ):
        settle(vault, vault, conflict, UNION)
    assert vault.read(PROGRESS) == "- another\n"
    assert (root / "p" / COPY).read_text() == "- start\n- theirs\n"


def test_a_copy_that_changes_meanwhile_is_not_deleted(vault: VaultBackend, root: Path, conflict: Conflict) -> None:
    from agentm_obsidian_vault import resolve

    real = resolve._settle

    def settle_while_the_client_writes(*args: object) -> str:
        (root / "p" / COPY).write_text("- newer\n")
        return real(*args)  # type: ignore[arg-type]

    with (
        mock.patch.object(resolve, "_settle", settle_while_the_client_writes),
        pytest.raises(ConcurrentModificationError),
    ):
        settle(vault, vault, conflict, MINE)
    assert (root / "p" / COPY).read_text() == "- newer\n"
    assert len(find_conflicts(vault)) == 1


def test_a_disk_that_fails_while_settling_leaves_the_conflict(
    vault: VaultBackend, root: Path, conflict: Conflict
) -> None:
    with (
        mock.patch.object(VaultBackend, "write", side_effect=StorageIOError("no space")),
        pytest.raises(StorageIOError),
    ):
        settle(vault, vault, conflict, THEIRS)
    assert vault.read(PROGRESS) == "- start\n- mine\n"
    assert find_conflicts(vault) == [conflict]


def test_the_same_version_may_lose_twice(vault: VaultBackend, root: Path, conflict: Conflict) -> None:
    settle(vault, vault, conflict, MINE)
    (root / "p" / COPY).write_text("- start\n- theirs\n")
    settle(vault, vault, find_conflicts(vault)[0], MINE)
    assert set(kept(root)) == {"- start\n- theirs\n"}


def test_conflicts_in_folders_of_tools_are_theirs(vault: VaultBackend, root: Path) -> None:
    (root / ".trash").mkdir()
    (root / ".trash" / "a (conflicted).md").write_text("x")
    (root / ".stversions").mkdir()
    (root / ".stversions" / "a (conflicted).md").write_text("x")
    assert find_conflicts(vault) == []


# ------------------------------------------------------------------------------------------------ suspects

LOG = "- one\n- two\n- three\n- four\n"


@pytest.mark.parametrize("name", ["progress-phase-2.md", "progress-phase (1).md", "journal 2.md", "log-2.md"])
def test_what_only_looks_like_a_copy_is_never_merged(vault: VaultBackend, root: Path, name: str) -> None:
    for key in ("PLAN-phase.md", "PLAN-phase-2.md", "progress-phase.md", "journal.md", "log.md"):
        vault.write(Locator(key), f"- of {key}\n- first\n- second of {key}\n")
    (root / name).write_text("- of another thing\n- entirely\n- different\n")
    before = {path.name: path.read_bytes() for path in root.glob("*.md")}
    for conflict in find_conflicts(vault):
        assert conflict.is_suspect
        with pytest.raises(LocatorConflictError, match="its text does not show"):
            settle(vault, vault, conflict, UNION)
    assert {path.name: path.read_bytes() for path in root.glob("*.md")} == before
    assert vault.read(Locator(name)) == "- of another thing\n- entirely\n- different\n"


def test_a_suspect_whose_text_proves_it_is_a_conflict_and_still_a_note(vault: VaultBackend, root: Path) -> None:
    vault.write(PROGRESS, LOG + "- mine\n")
    (root / "p" / "progress (1).md").write_text(LOG + "- theirs\n")
    (found,) = find_conflicts(vault)
    assert not found.is_suspect
    assert vault.read(found.copy.locator) == LOG + "- theirs\n"
    settle(vault, vault, found, UNION)
    assert vault.read(PROGRESS) == LOG + "- mine\n- theirs\n"
    assert find_conflicts(vault) == []


def test_a_suspect_that_becomes_another_note_meanwhile_is_left_alone(vault: VaultBackend, root: Path) -> None:
    vault.write(PROGRESS, LOG)
    other = root / "p" / "progress (1).md"
    other.write_text(LOG)
    (found,) = find_conflicts(vault)
    other.write_text("Something else altogether.\n")
    with pytest.raises(ConcurrentModificationError, match="of its own"):
        settle(vault, vault, found, UNION)
    assert other.read_text() == "Something else altogether.\n"


@pytest.mark.parametrize("choice", [MINE, THEIRS, BOTH, UNION])
def test_two_plans_are_never_merged(vault: VaultBackend, root: Path, choice: str) -> None:
    vault.write(Locator("PLAN-phase.md"), "# Phase\n- [ ] a\n- [ ] b\n- [ ] c\n")
    vault.write(Locator("PLAN-phase-2.md"), "# Phase\n- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n")
    assert find_conflicts(vault) == []
    assert len(vault.list(Locator())) == 3
