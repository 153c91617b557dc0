"""What a sync client brings in the middle of a write to a vault waits where conflicts are listed."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.faults.wrong_moment import as_client, in_the_middle_of_a_write

from agentm_kernel import Locator
from agentm_kernel.plugin import ConcurrentModificationError, content_hash
from agentm_kernel.seam.update import append
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = Locator("notes/a.md")


def kept(root: Path) -> list[str]:
    """The versions that were displaced unseen."""
    return sorted(path.read_text() for path in (root / "_meta" / "conflicts").rglob("unseen-*"))


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".agentm-*")]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    return partial(in_the_middle_of_a_write, monkeypatch)


def test_a_version_that_arrives_in_the_middle_is_listed_as_a_conflict(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: as_client(root / "notes" / "a.md", "unseen"))
    vault.write(NOTE, "ours")
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["unseen"]
    (conflict,) = find_conflicts(vault)
    assert (conflict.base, conflict.tool) == (NOTE, "agentm")


def become_placeholder(path: Path) -> None:
    """A version that a sync tool announces and has not downloaded."""
    as_client(path, "")
    os.truncate(path, 1000)


def test_an_online_only_version_that_arrives_in_the_middle_is_kept_without_reading_it(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: become_placeholder(root / "notes" / "a.md"))
    vault.write(NOTE, "ours")
    assert vault.read(NOTE) == "ours"
    assert kept(root) == ["\0" * 1000]


def test_an_online_only_version_that_arrives_in_the_middle_of_a_create_is_kept(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.mkdir(NOTE.parent)
    meanwhile(lambda: become_placeholder(root / "notes" / "a.md"))
    vault.write(NOTE, "ours")
    assert kept(root) == ["\0" * 1000]


def test_an_online_only_version_that_arrives_in_the_middle_refuses_a_write_that_expected_another(
    vault: VaultBackend, root: Path, meanwhile
) -> None:
    vault.write(NOTE, "seen")
    meanwhile(lambda: become_placeholder(root / "notes" / "a.md"))
    with pytest.raises(ConcurrentModificationError):
        vault.write(NOTE, "ours", if_match=content_hash("seen"))
    assert (root / "notes" / "a.md").stat().st_size == 1000
    assert kept(root) == []


def test_the_longest_key_has_a_place_for_its_other_versions(vault: VaultBackend, root: Path, meanwhile) -> None:
    note = Locator("/".join(["d" * 195] * 5))
    vault.write(note, "seen")
    meanwhile(lambda: as_client(root.joinpath(*note.parts), "unseen"))
    vault.write(note, "ours")
    assert kept(root) == ["unseen"]
    assert len(find_conflicts(vault)) == 1


def test_an_append_is_in_place_and_kept_where_an_editor_saves_over_it(vault: VaultBackend, root: Path) -> None:
    """An editor that had read the note before saves what it read: the line must not go with it."""
    note = Locator("notes/progress.md")
    vault.write(note, "one\n")
    path = root / "notes" / "progress.md"
    inode = path.stat().st_ino
    append(vault, note, "ours\n")
    assert path.stat().st_ino == inode
    (root / "saved").write_text("one\nedited\n")
    (root / "saved").rename(path)
    append(vault, note, "next\n")
    assert vault.read(note) == "one\nedited\nnext\n"
    assert kept(root) == ["ours\n"]
