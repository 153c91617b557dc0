"""Encrypted stores for tests: any store, with keys made for one scratch folder and kept there for other processes."""

from __future__ import annotations

import os

from agentm_encryption.device_identity import DeviceIdentity
from agentm_encryption.epochs import Keys
from agentm_encryption.key_source import KeySource, newest_epoch
from agentm_encryption.membership import found_keys
from agentm_encryption.opening import encrypted
from agentm_encryption.places import is_plain
from agentm_kernel.plugin import BackendLayer, FileStore, StorageBackend, layout, stamp_store
from agentm_kernel.seam.facets import FACETS

RECOVERY = "age1ggm8vkwv5ttsule3w86ff4ddu0nk5nr425x3v34ydtt6arhp7q5qzlqw4d"


def source_for(
    inner: StorageBackend, state_dir: str, *, sealed_names: bool = False, read_only: bool = False
) -> KeySource:
    """The keys of a store, made if it has none yet."""
    stamp_store(inner)
    DeviceIdentity(state_dir, {}, {}).make("file")
    source = KeySource(inner, state_dir, {}, {}, read_only=read_only)
    if not newest_epoch(inner):
        found_keys(source, inner, RECOVERY, "laptop", sealed_names=sealed_names)
    return source


def encrypt(inner: StorageBackend, state_dir: str, *, sealed_names: bool = False) -> StorageBackend:
    return encrypted(inner, source_for(inner, state_dir, sealed_names=sealed_names), read_only=False)


def open_files(scratch: str, *, sealed_names: bool = False) -> StorageBackend:
    """A store of files below `scratch`, with what this device keeps beside it."""
    inner = FileStore(os.path.join(scratch, "store"), create_root=True)
    return encrypt(inner, os.path.join(scratch, "state"), sealed_names=sealed_names)


class WithoutKeys(BackendLayer):
    """The store without its mark and its keys: the kit wants a new store to be empty, and one of ours never is."""

    passes = FACETS

    def list(self, locator):
        found = [child for child in self.inner.list(locator) if not is_plain(child)]
        return [child for child in found if child.key != layout.META or self.list(child)]

    def exists(self, locator):
        return self.inner.exists(locator) and (locator.key != layout.META or bool(self.list(locator)))

    def walk(self, locator):
        return (
            info
            for info in self.inner.walk(locator)
            if not is_plain(info.locator) and (info.locator.key != layout.META or self.list(info.locator))
        )


def keys_of(store: StorageBackend) -> Keys:
    from agentm_kernel.plugin import Sealed

    return store.facet(Sealed).keys  # type: ignore[union-attr]
