"""What a plugin's `init` command does: give a store its identity, and select it on this device.

And what brings a lost store back: open its place without asking who is there, and give it the identity that it had.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.device.config import load
from agentm_kernel.errors import StorageSelectionError, StoreIdentityError
from agentm_kernel.seam.values import Frozen
from agentm_kernel.selection.identity import check_identity, known_id, read_stamp, remember, stamp
from agentm_kernel.selection.open import choose, open_context, open_unchecked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.seam.backend import StorageBackend


def check_store(backend: StorageBackend, protocol: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The id that the store carries, `None` for an unmarked one; refused if this device knows another one there."""
    return check_identity(backend, protocol, open_context(_environ(environ), read_only=True))


def adopt_store(backend: StorageBackend, protocol: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Give the store an identity unless it has one, let this device know it there, and return it."""
    context = open_context(_environ(environ), read_only=False)
    store_id = check_identity(backend, protocol, context) or stamp(backend)
    remember(context.state_dir, protocol, backend.describe(), store_id)
    return store_id


def select_store(protocol: str, options: Mapping[str, object], *, environ: Mapping[str, str] | None = None) -> None:
    """Select a store on this device. Its options go first: without them, choosing it would be refused."""
    from agentm_kernel.device.config_writer import set_value

    config = load(environ)
    if config.storage_policy is not None:
        raise StorageSelectionError(
            f"storage.policy in {config.path} names the store of this device already",
            hint="run `agentm config unset storage.policy` to leave that one, then this command again",
        )
    for name, value in options.items():
        set_value(f"plugins.{protocol}.{name}", value, environ=environ)
    set_value("storage.backend", protocol, environ=environ)


def add_wrapper(name: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Have every store that is selected on this device wrapped, outermost; the path of the configuration."""
    from agentm_kernel.device.config_writer import set_value

    config = load(environ)
    if name not in config.wrappers:
        set_value("wrappers", [*config.wrappers, name], environ=environ)
    return config.path


class UnidentifiedStore(Frozen):
    """The store that the configuration names, opened without comparing it with what this device knows there."""

    __slots__ = ("protocol", "backend", "known")
    protocol: str
    backend: StorageBackend
    known: str | None
    """The id of the store that this device knows at that place."""

    def __init__(self, protocol: str, backend: StorageBackend, known: str | None) -> None:
        self._set(protocol=protocol, backend=backend, known=known)


def open_unidentified(*, environ: Mapping[str, str] | None = None) -> UnidentifiedStore:
    """For bringing back a store that is gone: nothing is read there, and nothing made."""
    environ = _environ(environ)
    config = load(environ)
    choice = choose(config, environ)
    context = open_context(environ, read_only=False)
    backend = open_unchecked(choice, config, context)
    return UnidentifiedStore(
        choice.protocol, backend, known_id(context.state_dir, choice.protocol, backend.describe())
    )


def return_identity(store: UnidentifiedStore, store_id: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Mark the store as `store_id` again, and let this device know it there; refused if it is marked as another."""
    if store.known not in (None, store_id) or read_stamp(store.backend) not in (None, store_id):
        raise StoreIdentityError(
            f"what is at {store.backend.describe()} is, or was, another store than {store_id}",
            hint="check the path; `agentm store show` says what is selected",
        )
    stamp(store.backend, store_id)
    remember(
        open_context(_environ(environ), read_only=False).state_dir, store.protocol, store.backend.describe(), store_id
    )


def _environ(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    return os.environ if environ is None else environ
