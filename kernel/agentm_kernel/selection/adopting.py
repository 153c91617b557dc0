"""What a plugin's `init` command does: give a store its identity, and select it on this device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.selection.identity import check_identity, record_store, stamp_store
from agentm_kernel.selection.open import check_may_leave

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.device.facts import DeviceFacts
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.device import Device


def check_store(device: DeviceFacts, backend: StorageBackend, protocol: str) -> str | None:
    """The id that the store carries, `None` for an unmarked one; refused if this device knows another one there."""
    return check_identity(backend, protocol, device.state_dir)


def adopt_store(device: DeviceFacts, backend: StorageBackend, protocol: str) -> str:
    """Give the store an identity unless it has one, let this device know it there, and return it."""
    store_id = check_identity(backend, protocol, device.state_dir) or stamp_store(backend)
    record_store(device.state_dir, protocol, backend.describe(), store_id)
    return store_id


def select_store(device: Device, protocol: str, options: Mapping[str, object]) -> None:
    """Select a store on this device. Its options go first: without them, choosing it would be refused."""
    from agentm_kernel.device.config_writer import set_value

    config = device.config
    if config.shortcut is not None:
        setting = config.shortcut[0]
        raise StorageSelectionError(
            f"{setting} in {config.path} names the store of this device already",
            hint=f"run `agentm config unset {setting}` to leave that one, then this command again",
        )
    check_may_leave(device)
    for name, value in options.items():
        set_value(device.environ, f"plugins.{protocol}.{name}", value)
    set_value(device.environ, "storage.backend", protocol)
