"""Stores that need more than their class to be opened at a root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import EditedFolder, FileStore
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend


def open_vault(root: str) -> StorageBackend:
    """A vault whose folder is there: making it is the sync tool's part, not the backend's."""
    os.makedirs(root, exist_ok=True)
    return VaultBackend(root)


def open_harness(root: str) -> StorageBackend:
    """`.harness/` of a checkout, as state files are written there."""
    return FileStore(root, medium=EditedFolder(), create_root=True)
