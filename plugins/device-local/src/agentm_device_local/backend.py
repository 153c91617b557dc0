"""`FileStore` in the user's home, private to the user, made by its first write."""

from __future__ import annotations

import os

from agentm_kernel.plugin import MAX_CONTENT_BYTES, FileStore

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Device, Opening

ROOT_VARIABLE = "AGENTM_DEVICE_LOCAL_ROOT"
DEFAULT_ROOT = "~/.agentm/memory"


class DeviceLocalBackend(FileStore):
    """Options: `root`, the folder (`$AGENTM_DEVICE_LOCAL_ROOT` beats it); `size_limit`, in bytes."""

    self_stamping = True  # a new device has to be able to write its first note without a ceremony

    def __init__(self, root: str | os.PathLike[str] | None = None, *, size_limit: int = MAX_CONTENT_BYTES) -> None:
        super().__init__(
            os.path.expanduser(root or DEFAULT_ROOT), create_root=True, private=True, size_limit=size_limit
        )

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        if options:
            from agentm_device_local.options import OPTIONS
            from agentm_kernel.plugin import check_options

            check_options("device-local", options, OPTIONS)
        given = {"root": DEFAULT_ROOT, **options}
        setting, root = "plugins.device-local.root", given.pop("root")
        if device.environ.get(ROOT_VARIABLE):
            setting, root = f"${ROOT_VARIABLE}", device.environ[ROOT_VARIABLE]
        path = os.path.expanduser(device.expand(root))
        if not os.path.isabs(path):  # it would be another store in every working directory
            from agentm_kernel.plugin import StorageSelectionError

            raise StorageSelectionError(
                f"{setting} is {ascii(root)}, not the full path of a folder",
                hint="use a path that begins with / or ~",
            )
        store = cls(path, **given)
        store.state_dir = opening.state_dir
        return store
