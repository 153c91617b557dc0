"""Backends for tests of the layers above the seam."""

from __future__ import annotations

import os

from agentm_kernel.plugin import Capabilities, FileStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Device, Opening


class LocalStub(FileStore):
    """A folder of this device that its first write makes: with it, harness state stays in the checkout.

    What the default store is to users, for tests that have only the kernel.
    """

    self_stamping = True

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        return cls(options.get("root") or os.path.join(device.home, "memory"), create_root=True, private=True)


class SyncedStub(FileStore):
    """A folder that claims to be synced: routing sends harness state to it, and hooks get real paths in it.

    Tests of routing want the capability without a sync tool. `MemoryBackend(sync=True)` is its sibling without files.
    """

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, sync=True, device_files=True, delete=True)
