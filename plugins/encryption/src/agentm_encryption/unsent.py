"""What agents edit in a device's copy of plans, when the store of that copy becomes an encrypted one or a plain one.

Each has a copy of its own, so what was not sent from the one that is given up would lie where nobody reads it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import DeviceCopy, MirroredState

if TYPE_CHECKING:
    from agentm_encryption.key_source import KeySource
    from agentm_encryption.selected import SelectedStore
    from agentm_kernel.plugin import Device


def send_state(device: Device) -> None:
    """Send the edits before this device makes the store another one."""
    selected = device.store(read_only=False)
    copy = selected.facet(DeviceCopy)
    if copy is not None:
        copy.push(selected)


def send_unsent(store: SelectedStore) -> None:
    """Send the edits in the plain copy to a store that another device has encrypted since: it is compared with what
    the notes there say.
    """
    copy = store.backend.facet(DeviceCopy)
    if copy is not None:
        copy.push(store.device.renewed().store(read_only=False))


def send_to_plain(store: SelectedStore, source: KeySource) -> None:
    """Send the edits in the copy of the encrypted store to the one that another device has made plain since."""
    folder = os.path.join(source.folder, "state")
    if os.path.isdir(folder):
        MirroredState(store.backend, folder).push(store.backend)


def fetch_state(device: Device) -> None:
    """Bring plans and progress to where hooks of this device read them."""
    store = device.renewed().store(read_only=False)
    copy = store.facet(DeviceCopy)
    if copy is not None:
        copy.pull(store)
