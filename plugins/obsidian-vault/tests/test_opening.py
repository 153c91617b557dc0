"""Opening a vault: its options, and the refusals that say what to run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import (
    Device,
    InvalidLocatorError,
    NotFoundError,
    Opening,
    StorageIOError,
    StorageSelectionError,
)
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    from pathlib import Path


def opened(options: dict[str, Any], home: Path, **environ: str) -> VaultBackend:
    vault = VaultBackend.create(
        options, Device({**environ, "HOME": str(home)}), Opening(state_dir=str(home / "state"))
    )
    vault.check_usable(read_only=False)
    return vault


def test_it_promises_what_a_synced_folder_can_keep(vault: VaultBackend) -> None:
    assert vault.capabilities == Capabilities(
        concurrent_writers=True, conflict_files=True, sync=True, device_files=True, delete=True
    )


def test_the_path_is_an_option_and_a_tilde_is_the_home(root: Path, tmp_path: Path) -> None:
    assert opened({"vault_path": str(root)}, tmp_path).describe() == str(root)
    assert opened({"vault_path": "~/vault"}, tmp_path).describe() == str(root)


def test_the_environment_beats_the_option(root: Path, tmp_path: Path) -> None:
    given = {"vault_path": str(tmp_path / "elsewhere")}
    assert opened(given, tmp_path, MEMORY_VAULT_PATH=str(root)).describe() == str(root)
    assert opened({}, tmp_path, MEMORY_VAULT_PATH=" ~/vault ").describe() == str(root)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({}, "agentm vault init PATH --use"),
        ({"vault_path": ""}, "agentm vault init PATH --use"),
        ({"vault_path": "relative/folder"}, "agentm config set plugins.vault.vault_path"),
        ({"vault_path": 5}, "agentm config set plugins.vault.vault_path"),
        ({"vault_path": "~/nowhere"}, "agentm config set plugins.vault.vault_path"),
        ({"vault_path": "~/vault", "personal_root": "notes"}, "agentm config set plugins.vault.personal_root"),
        ({"vault_path": "~/vault", "personal_root": "~/vault"}, "agentm config set plugins.vault.personal_root"),
        ({"vault_path": "~/vault", "personal_root": "~/vault/own"}, "agentm config set plugins.vault.personal_root"),
        ({"vault_path": "~/vault", "vault-path": "x"}, "agentm config unset plugins.vault.vault-path"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_what_to_run(
    root: Path, tmp_path: Path, options: dict[str, Any], hint: str
) -> None:
    with pytest.raises(StorageSelectionError) as refusal:
        opened(options, tmp_path)
    assert refusal.value.hint is not None
    assert hint in refusal.value.hint


def test_a_personal_root_inside_the_store_is_refused_by_any_path(root: Path, tmp_path: Path) -> None:
    (root / "own").mkdir()
    (tmp_path / "link").symlink_to(root / "own")
    with pytest.raises(StorageSelectionError, match="inside the agent's store"):
        opened({"vault_path": str(root), "personal_root": str(tmp_path / "link")}, tmp_path)


def test_a_folder_that_is_missing_is_never_made(tmp_path: Path) -> None:
    vault = VaultBackend(tmp_path / "gone")
    for verb in (vault.read, vault.info, vault.exists, vault.list, vault.mkdir):
        with pytest.raises(StorageIOError) as error:
            verb(Locator("a.md"))
        assert not isinstance(error.value, NotFoundError)
    with pytest.raises(StorageIOError):
        vault.write(Locator("a.md"), "x")
    assert not (tmp_path / "gone").exists()


def test_opening_and_reading_change_nothing(vault: VaultBackend, root: Path, tmp_path: Path) -> None:
    before = sorted(os.walk(tmp_path))
    again = opened({"vault_path": str(root)}, tmp_path)
    again.list(Locator())
    again.stamp_text()
    assert not again.exists(Locator("a.md"))
    assert sorted(os.walk(tmp_path)) == before


def test_an_older_install_s_folder_inside_the_vault_is_honoured(root: Path, tmp_path: Path) -> None:
    (root / "Agent" / "memory").mkdir(parents=True)
    older = {"vault_path": str(root), "memory_root": "Agent/memory", "spaces": {"projects": "desk"}}
    assert opened(older, tmp_path).describe() == str(root / "Agent" / "memory")
    assert opened(older, tmp_path, MEMORY_VAULT_PATH=str(root)).describe() == str(root)
    with pytest.raises(InvalidLocatorError):
        opened({"vault_path": str(root), "memory_root": "../elsewhere"}, tmp_path)


def test_names_of_computers_are_an_option(root: Path, tmp_path: Path) -> None:
    vault = opened({"vault_path": str(root), "devices": "big-box, Ada's laptop"}, tmp_path)
    (root / "a.md").touch()
    (root / "a-big-box.md").touch()
    (root / "a-Ada's laptop.md").touch()
    (root / "a-other.md").touch()
    assert [child.key for child in vault.list(Locator())] == ["a-other.md", "a.md"]
