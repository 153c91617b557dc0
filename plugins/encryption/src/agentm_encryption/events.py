"""When the plain copy of plans on this device is brought up to date: at the events of an agent's life."""

from __future__ import annotations

from agentm_encryption.places import NAME
from agentm_kernel.plugin import PULLING, PUSHING, DeviceCopy, StorageIOError, StorageReadOnlyError, hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext, Transfer


@hookimpl
def agentm_event(name: str, context: HookContext) -> str | None:
    """Nothing, where no encrypted store is selected. One that cannot be reached is said, and is no failure."""
    if name not in (*PULLING, *PUSHING) or NAME not in context.device.config.wrappers:
        return None
    from agentm_encryption.state_copy import EncryptedStateCopy

    selected = context.device.store(read_only=False)
    copy = selected.facet(DeviceCopy)
    if not isinstance(copy, EncryptedStateCopy):
        return None
    try:
        done = copy.push(selected) if name in PUSHING else copy.pull(selected)
    except (StorageIOError, StorageReadOnlyError) as error:
        return f"encryption: {error.message}; the copy of plans on this device keeps what was written"
    return _line(done)


def _line(done: Transfer) -> str | None:
    parts = [f"{count} {what}" for count, what in ((done.fetched, "fetched"), (done.sent, "sent")) if count]
    if done.conflicts:
        parts.append(f"both sides changed, your version is kept as {', '.join(done.conflicts)}")
    return f"encryption: {'; '.join(parts)}" if parts else None
