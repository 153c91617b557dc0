"""What a plugin's `init` command does: give a store its identity, and select it on this device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.device.config import load
from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.selection.identity import check_identity, remember, stamp
from agentm_kernel.selection.open import check_may_leave, open_context

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
    check_may_leave(environ)
    for name, value in options.items():
        set_value(f"plugins.{protocol}.{name}", value, environ=environ)
    set_value("storage.backend", protocol, environ=environ)


def _environ(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    return os.environ if environ is None else environ
