"""The routing rule: mode `local` → the checkout; a synced store → the store; any other store → the checkout.

The discriminator is the backend's `sync` capability, never its class or a path. This is the only module that may
ask a store for a path on this host.
"""

from __future__ import annotations

import os

from agentm_kernel.config.read import load
from agentm_kernel.errors import StorageError
from agentm_kernel.projects.root import HARNESS_DIR
from agentm_kernel.seam.backend import HostFiles
from agentm_kernel.state.modes import state_mode
from agentm_kernel.state.resolve import route_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.resolution import Resolution


def current(resolution: Resolution) -> Resolution:
    """`resolution` as the mode stands now: a marker or a configuration replaced since it was made counts."""
    is_local = state_mode(resolution.root, load()) == "local"
    if is_local == (resolution.backend is None):
        return resolution
    return route_project({"cwd": resolution.root}, read_only=True)


def state_directory(resolution: Resolution) -> str:
    """The directory of the project's state on this host."""
    resolution = current(resolution)
    if resolution.backend is None or not resolution.is_synced:
        return os.path.join(resolution.root, HARNESS_DIR)
    return _host_files(resolution.backend).host_path(resolution.state_locator)


def _host_files(backend: StorageBackend) -> HostFiles:
    if backend.capabilities.host_files and isinstance(backend, HostFiles):
        return backend
    raise StorageError(
        f"the synced store at {backend.describe()} has no files on this host",
        hint="use `agentm state read|write`, or keep state in the checkout: `agentm config set state_mode local`",
    )


def state_file_path(resolution: Resolution, name: str) -> str:
    """The path of one state file on this host, whether or not it is there yet."""
    return os.path.join(state_directory(resolution), name)


def harness_state_dir(resolution: Resolution | None = None) -> Path:
    """The directory of the project's state: of `resolution`, else of the current directory's project."""
    from pathlib import Path

    if resolution is None:
        resolution = route_project(read_only=True)
    return Path(state_directory(resolution))
