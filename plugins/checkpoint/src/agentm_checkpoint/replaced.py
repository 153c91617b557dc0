"""The hook `agentm_replaced`: what a write of ours replaces goes into the history of its store."""

from __future__ import annotations

from agentm_checkpoint.directories import folder_of, history_folder, store_id
from agentm_checkpoint.history import History
from agentm_checkpoint.settings import settings_of
from agentm_kernel.plugin import hookimpl, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, HookContext, Locator, StorageBackend

_NOT_NOTES = f"{layout.META}/"
"""What agentm keeps in a store for itself: logs and registers, which nobody wants back."""


@hookimpl
def agentm_replaced(locator: Locator, old: str | None, new: str | None, context: HookContext) -> None:
    """Keep what is replaced. A failure is reported by the caller, and the note is written all the same."""
    if context.store is not None and not locator.key.startswith(_NOT_NOTES):
        open_history(context.store, context.device).record(locator.key, old, new)


def open_history(backend: StorageBackend, device: Device) -> History:
    """The history of a store on this device, with the limits that the configuration sets."""
    return open_history_of(store_id(backend), device)


def open_history_of(store: str, device: Device) -> History:
    """The same of a store that need not be there any more, by its id."""
    settings = settings_of(device)
    folder = folder_of(device.state_dir, store)
    return History(history_folder(folder), days=settings.history_days, megabytes=settings.history_megabytes)
