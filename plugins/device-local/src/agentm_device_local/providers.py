"""The openers of group `agentm.providers` for folders on this host: `dev-local` and `local-fs`."""

from __future__ import annotations

from agentm_kernel.plugin import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_device_local.backend import DeviceLocalBackend
    from agentm_device_local.local_fs import LocalFolder
    from agentm_kernel.plugin import ProviderContext


def open_dev_local(
    config: Mapping[str, Any], _credentials: Mapping[str, str], _context: ProviderContext
) -> DeviceLocalBackend:
    """A folder for development: private to the user, made by its first write."""
    from agentm_device_local.backend import DeviceLocalBackend

    return DeviceLocalBackend(config["root"])


def open_local_fs(
    config: Mapping[str, Any], _credentials: Mapping[str, str], context: ProviderContext
) -> LocalFolder:
    """A folder that other programs edit too. With an `agent_id`, a sync agent shares it with other devices."""
    from agentm_device_local.local_fs import LocalFolder

    mount_path = config.get("mount_path")
    if not mount_path:
        raise StorageError(
            f"{context.name} names a sync agent but no folder, and agentm only opens folders of this host",
            hint="add config.mount_path: the folder that the agent keeps on this host",
        )
    return LocalFolder(mount_path, context, is_replicated=bool(config.get("agent_id")))
