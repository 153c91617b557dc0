"""What a write, a store, a plugin or a command line is refused with: no hook needs these as long as all is well."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError
from agentm_kernel.errors.reading import ConfigError, StorageError, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class LocatorConflictError(StorageError):
    """What is stored already leaves no room for this key: a directory, a file above it, another spelling."""


class StorageReadOnlyError(StorageError):
    """A policy declares the store read-only; the backend was not reached."""

    code = "storage_read_only"


class AuthorizationError(StorageError):
    """The operator has not allowed this write to the personal space."""


class DeclinedError(AuthorizationError):
    """The person who was asked said no. Nothing was changed, and nothing went wrong."""


class StorageConflictError(StorageError):
    """Versions of something diverged, and no rule may settle it. None was lost."""

    code = "storage_conflict"


class StorageRefUnresolvableError(StorageError):
    """A storage reference leads nowhere, and nothing else may take its place."""

    code = "storage_ref_unresolvable"


class IntegrityError(StorageError):
    """What is stored is not what was known to be good."""


class ConcurrentModificationError(AgentmError, RuntimeError):
    """The condition of a write did not hold: somebody else was there first. Nothing was written."""

    exit_code = 3


class LockTimeout(AgentmError, RuntimeError):
    """The store stayed locked by another holder for the whole time allowed. Nothing was written."""

    exit_code = 4


class InvalidContentError(AgentmError, ValueError):
    """Text that cannot be stored, or stored bytes that are not text."""


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


class UnsafePlanNameError(ConfigError, ValueError):
    """A plan name that is not a plain file name."""


class UsageError(AgentmError):
    """A command line that cannot be used."""

    exit_code = 2


# Not of the tree: what one module tells another, which tells the caller in words of its own.


class MalformedJson(ValueError):
    """The text is not JSON, or is JSON that two readers could understand differently. Says what is wrong."""


class UnfitSetting(ValueError):
    """A setting that may not stand, and in `remedy` the command that puts it right."""

    def __init__(self, key: str, why: str, remedy: str = "unset") -> None:
        plain = key.replace(".", "").replace("_", "").replace("-", "")
        in_shell = key if plain.isalnum() and plain.isascii() else "'" + key.replace("'", "'\\''") + "'"
        super().__init__(f"'{key}' {why}")
        self.remedy = f"agentm config {remedy} {in_shell}" + " VALUE" * (remedy == "set")


class PluginEndsProcess(BaseException):
    """Raised in the plugin's stead when it calls `os._exit`; only `Call` sees it."""
