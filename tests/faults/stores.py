"""Stores that need more than their class to be opened at a root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_encryption.device_identity import DeviceIdentity
from agentm_encryption.key_source import KeySource, newest_epoch
from agentm_encryption.membership import found_keys
from agentm_encryption.opening import encrypted
from agentm_encryption.places import is_plain
from agentm_kernel.plugin import (
    BackendLayer,
    EditedFolder,
    FileStore,
    layout,
    make_private_folder,
    stamp_store,
    store_mutex,
)
from agentm_kernel.seam.facets import FACETS
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_kernel import Locator
    from agentm_kernel.plugin import Info, StorageBackend

RECOVERY = "age1ggm8vkwv5ttsule3w86ff4ddu0nk5nr425x3v34ydtt6arhp7q5qzlqw4d"
"""Somebody's public key. Nobody has the other half."""
_PATIENCE = 120.0


def open_vault(root: str) -> StorageBackend:
    """A vault whose folder is there: making it is the sync tool's part, not the backend's."""
    os.makedirs(root, exist_ok=True)
    return VaultBackend(root)


def open_harness(root: str) -> StorageBackend:
    """`.harness/` of a checkout, as state files are written there."""
    return FileStore(root, medium=EditedFolder(), create_root=True)


def open_encrypted(root: str) -> StorageBackend:
    """The default store, encrypted, with this device's part of it in a folder beside it."""
    return encrypt(DeviceLocalBackend(os.path.join(root, "store")), os.path.join(root, "state"))


def open_encrypted_vault(root: str) -> StorageBackend:
    return encrypt(open_vault(os.path.join(root, "store")), os.path.join(root, "state"))


def open_encrypted_git(root: str) -> StorageBackend:
    """A clone of nothing yet: what races in it is the work tree, and git takes it up when it is synchronised."""
    from agentm_git.backend import GitStore
    from agentm_git.setup import make_clone

    clone = os.path.join(root, "clone")
    store = GitStore(clone)
    make_private_folder(root)
    with store_mutex(root):
        if not os.path.isdir(os.path.join(clone, ".git")):
            make_clone(clone, store.settings, os.environ)
    return encrypt(store, os.path.join(root, "state"))


def encrypt(inner: StorageBackend, state_dir: str, *, sealed_names: bool = False) -> StorageBackend:
    """Any store with encryption around it. Of two processes that open a new one at once, only one may make keys."""
    make_private_folder(state_dir)
    with store_mutex(state_dir, timeout=_PATIENCE):  # nine processes may open a bucket one after the other here
        stamp_store(inner)
        DeviceIdentity(state_dir, {}, {}).make("file")
        source = KeySource(inner, state_dir, {}, {}, read_only=False)
        if not newest_epoch(inner):
            found_keys(source, inner, RECOVERY, "laptop", sealed_names=sealed_names)
    return WithoutKeys(encrypted(inner, source, read_only=False))


class WithoutKeys(BackendLayer):
    """The store without its mark and its keys: tests want a new store to be empty, and an encrypted one never is."""

    passes = FACETS

    def list(self, locator: Locator) -> builtins.list[Locator]:
        found = [child for child in self.inner.list(locator) if not is_plain(child)]
        return [child for child in found if child.key != layout.META or self.list(child)]

    def exists(self, locator: Locator) -> bool:
        return self.inner.exists(locator) and (locator.key != layout.META or bool(self.list(locator)))

    def walk(self, locator: Locator) -> Iterator[Info]:
        for info in self.inner.walk(locator):
            if not is_plain(info.locator) and (info.locator.key != layout.META or self.list(info.locator)):
                yield info
