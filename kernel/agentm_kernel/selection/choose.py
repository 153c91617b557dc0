"""The choice of a backend by name. What is chosen is then had, or refused: nothing takes its place."""

from __future__ import annotations

import os

from agentm_kernel.config.read import load
from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.config.read import Config

VAULT_VARIABLE = "MEMORY_VAULT_PATH"
DEFAULT_PROTOCOL = "device-local"
POLICY_PROTOCOL = "policy"
"""The backend that opens what `storage.policy` describes, and the wrapper that keeps its rules."""


class Choice(Frozen):
    """A protocol, and in words where the choice comes from."""

    __slots__ = ("protocol", "origin")
    protocol: str
    origin: str

    def __init__(self, protocol: str, origin: str) -> None:
        self._set(protocol=protocol, origin=origin)


def choose(config: Config, environ: Mapping[str, str]) -> Choice:
    """Configuration, then environment, then the default."""
    if config.storage_policy is not None:
        return Choice(POLICY_PROTOCOL, f"storage.policy in {config.path}")
    if config.storage_backend is not None:
        return Choice(config.storage_backend, f"storage.backend in {config.path}")
    if environ.get(VAULT_VARIABLE, "").strip():
        return Choice("vault", f"${VAULT_VARIABLE}")
    return Choice(DEFAULT_PROTOCOL, "the default")


def choose_protocol(environ: Mapping[str, str] | None = None) -> str:
    """The protocol of the store that this device uses."""
    environ = os.environ if environ is None else environ
    return choose(load(environ), environ).protocol
