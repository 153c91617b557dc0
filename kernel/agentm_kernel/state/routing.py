"""The routing rule: mode `local` → the checkout; a synced store → the store; any other store → the checkout.

The mode is what a marker in the checkout's `.harness/` folder says, which never leaves it, or else the device.
The discriminator is the backend's `sync` capability, never its class or a path. This is the only module that may
ask a store for a path on this device.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import ConfigError, InvalidLocatorError, StorageError, StorageSelectionError
from agentm_kernel.projects.root import HARNESS_DIR, read_checkout_file, refuse_linked_harness
from agentm_kernel.seam.facets import DeviceCopy, DeviceFiles
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state.resolution import Resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.device import Device

MODE_MARKER = ".project-mode"
"""Whether state stays in the checkout (`local`) or goes to the store (`backend`)."""

ACTIVE_MARKER = "active-plan"
"""Which plan this checkout works on."""


def route(device: Device, root: str, *, read_only: bool) -> Resolution:
    """The project at `root` and, unless its state is local, the store; one that cannot be had raises."""
    if is_local(device, root):
        return Resolution(root, None, device=device)
    try:
        return in_store(device, root, read_only=read_only)
    except StorageSelectionError:
        if read_only or not _lies_in_checkout(device, root):
            raise
    return in_store(device, root, read_only=True)


def _lies_in_checkout(device: Device, root: str) -> bool:
    """Whether state is none of the store's business: then it can be written although the store cannot.

    A sandbox, for one, lets an agent write to the checkout and nowhere else.
    """
    try:
        return not device.store(bound_store(device, root), read_only=True).capabilities.sync
    except StorageSelectionError:
        return False


def in_store(device: Device, root: str, *, read_only: bool) -> Resolution:
    """The project at `root` and the store of its notes, whatever the mode says about its state."""
    name = bound_store(device, root)
    backend = device.store(name, read_only=read_only)
    return Resolution(root, backend, local_view=_on_this_device(backend), device=device, store_name=name)


def bound_store(device: Device, root: str) -> str | None:
    """The further store that the operator has bound the project at `root` to; `None` for the default store."""
    try:
        bindings = device.config.bindings
    except ConfigError:
        return None  # opening the store says what is wrong with it
    if not bindings:
        return None
    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.projects.checkouts import binding_key

    return bindings.get(binding_key(Checkout(root)))


# ------------------------------------------------------------------------------------------------ paths


def state_directory(resolution: Resolution) -> str:
    """The directory of the project's state on this device, as `resolution` has it."""
    if not resolution.is_synced:
        refuse_linked_harness(resolution.root)
        return os.path.join(resolution.root, HARNESS_DIR)
    return path_in_store(resolution, resolution.state_locator)


def state_file_path(resolution: Resolution, name: str) -> str:
    """The path of one state file on this device, whether or not it is there yet."""
    return os.path.join(state_directory(resolution), checked_name(name))


def checked_name(name: str) -> str:
    """`name` if a state file may have it: a plain name, in either place, and not that of a marker."""
    locator = Locator(name)
    if locator.key != name or len(locator.parts) != 1:
        raise InvalidLocatorError(
            f"{ascii(name)} is not the name of a state file", hint="state files have plain names such as PLAN.md"
        )
    if is_marker(name):
        raise InvalidLocatorError(
            f"{ascii(name)} is not a state file but a marker of this checkout",
            hint="`agentm plan use NAME` sets the active plan; other markers are edited by hand in .harness/",
        )
    return name


def path_in_store(resolution: Resolution, locator: Locator) -> str:
    """Where this device has what is stored at `locator`; `StorageError` for a store that has no files here."""
    backend = resolution.backend
    files = None if backend is None else backend.facet(DeviceFiles)
    if files is None:
        place = "no store" if backend is None else f"the synced store at {backend.describe()}"
        raise StorageError(
            f"{place} has no files on this device, so a project's state cannot lie there",
            hint="choose another store, or keep state in the checkout: `agentm config set state_mode local`",
        )
    return files.device_path(locator)


def _on_this_device(backend: StorageBackend) -> StorageBackend:
    """The store as hooks see it: itself, or its copy on this device if it lies elsewhere."""
    files = backend.facet(DeviceFiles)
    if files is None or backend.facet(DeviceCopy) is None:
        return backend
    from agentm_kernel.state.mirrored import LocalCopy

    return LocalCopy(backend, files.device_path(Locator()))


# ------------------------------------------------------------------------------------------------ markers


def is_local(device: Device, project_root: str) -> bool:
    """Whether the project's state stays in its checkout: the repository's own word first, then the device's.

    A repository that has its own word does not ask the device: its state stays where it is even while the device's
    configuration is being repaired.
    """
    return (_marked_mode(project_root) or device.config.state_mode) == "local"


def is_marker(name: str) -> bool:
    """Whether a name in `.harness/` belongs to a marker rather than to a state file."""
    return name.partition(" (")[0] == ACTIVE_MARKER or name.startswith(".")


def _marked_mode(project_root: str) -> str | None:
    path = os.path.join(project_root, HARNESS_DIR, MODE_MARKER)
    word = read_marker(path)
    if not word:
        return None
    from agentm_kernel.device.settings import STATE_MODES

    mode = STATE_MODES.get(word.lower())
    if mode is None:
        raise ConfigError(
            f"{path} says {ascii(word[:40])}, which is not a state mode",
            hint="write `local` or `backend` into it, or remove it",
        )
    return mode


def read_marker(path: str) -> str | None:
    """The word in a marker file, `None` if there is no such file; one that cannot be read is an error."""
    data = read_checkout_file(path)
    if data is None:
        return None
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text", hint="repair or remove that file") from None
