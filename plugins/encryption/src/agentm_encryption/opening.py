"""The entry point of the wrapper: the store as the configuration has it, with encryption around it."""

from __future__ import annotations

import os

from agentm_encryption.key_source import KeySource
from agentm_encryption.places import NAME
from agentm_encryption.store import EncryptedStore
from agentm_kernel.plugin import Appends, StorageSelectionError, Unguarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.plugin import Device, Opening, StorageBackend


def wrap(backend: StorageBackend, options: Mapping[str, Any], device: Device, opening: Opening) -> StorageBackend:
    """The entry point of group `agentm.wrappers`. Asks the store for its mark and nothing else."""
    if options:
        from agentm_encryption.options import OPTIONS
        from agentm_kernel.plugin import check_options

        check_options(NAME, options, OPTIONS)
    if backend.facet(Unguarded) is not None:
        raise StorageSelectionError(
            "`wrappers` has 'encryption' outside of another layer, which would then see and keep what is encrypted",
            hint=f"name it first: `agentm config set wrappers {NAME},…`",
        )
    refuse_shared_folder(backend)
    source = KeySource(
        backend, opening.state_dir or device.state_dir, device.environ, options, read_only=opening.read_only
    )
    return encrypted(backend, source, read_only=opening.read_only)


def encrypted(backend: StorageBackend, source: KeySource, *, read_only: bool) -> StorageBackend:
    """The layers around a store whose keys this device has: names, texts, and a copy of its state for hooks."""
    source.check_pinned(max(source.pins.newest, 1))
    return with_state(sealed_store(backend, source), read_only=read_only)


def with_state(store: EncryptedStore, *, read_only: bool) -> StorageBackend:
    """The store and the copy of its state, if it is one that devices share."""
    if not store.capabilities.sync:
        return store
    from agentm_encryption.state_copy import EncryptedStateCopy

    return EncryptedStateCopy(store, os.path.join(store.source.folder, "state"), read_only=read_only)


def sealed_store(backend: StorageBackend, source: KeySource) -> EncryptedStore:
    """The layers for names and texts. What programs still write to the plain files of before is not kept in plain."""
    appends = backend.facet(Appends)
    if source.pins.has_sealed_names:
        from agentm_encryption.names import SealedNames

        backend = SealedNames(backend, source)
    store = EncryptedStore(backend, source)
    if appends is not None:
        appends.keep_sealed(store.seal_kept)
    return store


def refuse_shared_folder(backend: StorageBackend) -> None:
    """Raise if another program opens the folder of this store to show it: it would show what nobody can read."""
    place = backend.describe()
    if not os.path.isabs(place):
        return
    above = os.path.realpath(place)
    while True:
        if os.path.isdir(os.path.join(above, ".obsidian")):
            raise StorageSelectionError(
                f"Obsidian opens {above}, and would show and index encrypted notes; such a folder is not encrypted",
                hint="put the agent's store into a folder of its own outside of the vault, or leave it plain",
            )
        parent = os.path.dirname(above)
        if parent == above:
            return
        above = parent
