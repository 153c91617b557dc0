"""What commands of plugins change about the choice: select a store, put a layer around it, bring a lost one back."""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError, StorageSelectionError, StoreIdentityError
from agentm_kernel.seam import Frozen, Opening
from agentm_kernel.seam.backend import SWAP_PROVIDER, StorageBackend
from agentm_kernel.seam.layout import STAMP_KEY
from agentm_kernel.selection import Choice, IdentityGuard, choose, open_backend, open_identified, with_wrappers
from agentm_kernel.selection.identity import known_id, read_stamp, record_store, stamp_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.state import Device


def check_may_leave(device: Device) -> None:
    """Raise unless whatever guards the selected store lets its notes go to another one.

    The store is opened and not used, so the answer needs no network and no credentials. A store that cannot even be
    opened is no obstacle: changing the configuration is how that is repaired.
    """
    opening = Opening(read_only=True, state_dir=device.state_dir)
    try:
        backend: StorageBackend = open_backend(device, choose(device), opening)
    except AgentmError:
        return
    try:
        backend = with_wrappers(device, backend, device.config.wrappers, opening)
    except AgentmError:
        pass  # a layer that cannot be had says nothing; what it is around is asked all the same
    backend.check_allowed(SWAP_PROVIDER)


def _refuse_further(device: DeviceFacts) -> None:
    """Raise where a further store was named with `--store`: it is the default one that would be changed."""
    if (name := device.store_name) is not None:
        hint = "leave --store out; `agentm store add` and `agentm project use-store` say where further stores are"
        raise StorageSelectionError(f"the default store of this device would be changed, and not '{name}'", hint=hint)


def refuse_nested(place: str, *, is_new: bool = True, is_hidden: Callable[[str], bool] | None = None) -> None:
    """Raise where a folder that is to be a store lies in another one, or as a new one has one in it: the outer one
    would take the notes of the inner one for its own, and a restore delete them.

    What lies in folders that it hides, the trash of a program for one, it would not see.
    """
    above = os.path.realpath(place)
    while (parent := os.path.dirname(above)) != above:
        above = parent
        if os.path.lexists(os.path.join(above, STAMP_KEY)):
            hint = "choose a folder outside it; one store does not hold another"
            raise StorageSelectionError(f"{place} lies inside the store {above}", hint=hint)
    for folder, folders, _ in os.walk(place) if is_new else ():
        folders[:] = [name for name in folders if name != ".git" and not (is_hidden and is_hidden(name))]
        if folder != place and os.path.lexists(os.path.join(folder, STAMP_KEY)):
            hint = "choose another folder, or move that store out of it; one store does not hold another"
            raise StorageSelectionError(f"{place} has another store in it, {folder}", hint=hint)


def open_other(device: Device, protocol: str) -> IdentityGuard:
    """The store of another protocol than the selected one, from its options in the configuration, for migration."""
    _refuse_further(device)
    return open_identified(device, Choice(protocol, "the command", None), Opening(state_dir=device.state_dir))


def select_store(device: Device, protocol: str, options: Mapping[str, object]) -> None:
    """Select a store on this device. Its options go first: without them, choosing it would be refused."""
    config = device.config
    _refuse_further(device)
    if config.shortcut is not None:
        setting = config.shortcut[0]
        hint = f"run `agentm config unset {setting}` to leave that one, then this command again"
        raise StorageSelectionError(f"{setting} in {config.path} names the store of this device already", hint=hint)
    check_may_leave(device)
    from agentm_kernel.device.config_writer import set_value

    for name, value in options.items():
        set_value(device.environ, f"plugins.{protocol}.{name}", value)
    set_value(device.environ, "storage.backend", protocol)


def add_wrapper(device: DeviceFacts, name: str) -> str:
    """Have the store of `device` wrapped, outermost; the setting that says so, and the file that it stands in."""
    config = device.renewed().config
    if name not in config.wrappers:
        from agentm_kernel.device.config_writer import set_value

        set_value(device.environ, config.wrapped_by, [*config.wrappers, name])
    return f"`{config.wrapped_by}` in {config.path}"


class UnidentifiedStore(Frozen):
    """The store that the configuration names, opened without comparing it with what this device knows there."""

    protocol: str
    backend: StorageBackend
    known: str | None  # the id of the store that this device knows at that place


def open_unidentified(device: Device) -> UnidentifiedStore:
    """For bringing back a store that is gone: nothing is read there, and nothing made."""
    choice = choose(device)
    backend = open_backend(device, choice, Opening(state_dir=device.state_dir))
    known = known_id(device.state_dir, choice.protocol, backend.describe())
    return UnidentifiedStore(choice.protocol, backend, known)


def return_identity(device: DeviceFacts, store: UnidentifiedStore, store_id: str) -> None:
    """Mark the store as `store_id` again, and let this device know it there; refused if it is marked as another."""
    if store.known not in (None, store_id) or read_stamp(store.backend) not in (None, store_id):
        raise StoreIdentityError(
            f"what is at {store.backend.describe()} is, or was, another store than {store_id}",
            hint="check the path; `agentm store show` says what is selected",
        )
    stamp_store(store.backend, store_id)
    record_store(device.state_dir, store.protocol, store.backend.describe(), store_id)
