"""Why a store, a plugin or a plan cannot be had."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ProtocolError(AgentmError, ValueError):
    """A backend was registered badly."""


class CapabilityMismatchError(StorageSelectionError):
    """The selected backend lacks capabilities that the caller requires."""

    def __init__(self, protocol: str, unsatisfied: Iterable[str], *, hint: str | None = None) -> None:
        self.protocol = protocol
        self.unsatisfied = tuple(unsatisfied)
        missing = ", ".join(self.unsatisfied)
        super().__init__(f"backend '{protocol}' does not satisfy required capabilities: {missing}", hint=hint)


class BackendNotInstalledError(StorageSelectionError):
    """No installed distribution provides the backend."""


class StoreIdentityError(StorageSelectionError):
    """The place holds another store than the one this device knows there, or none at all."""


class ActivePlanError(AgentmError, RuntimeError):
    """The active-plan marker is there but does not lead to a plan."""


class PluginError(AgentmError):
    """A plugin cannot be loaded or does not keep its contract."""
