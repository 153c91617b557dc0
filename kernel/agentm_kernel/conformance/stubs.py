"""Backends for tests of the layers above the seam."""

from __future__ import annotations

from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.values import Capabilities


class SyncedStub(FileStore):
    """A folder that claims to be synced: routing sends harness state to it, and hooks get real paths in it.

    Tests of routing want the capability without a sync tool. `MemoryBackend(sync=True)` is its sibling without files.
    """

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, sync=True, host_files=True, delete=True)
