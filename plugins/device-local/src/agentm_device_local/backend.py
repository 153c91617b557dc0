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
        given = {**options}
        root = device.environ.get(ROOT_VARIABLE) or given.pop("root", None) or DEFAULT_ROOT
        given.pop("root", None)
        store = cls(device.expand(root), **given)
        store.state_dir = opening.state_dir
        return store
