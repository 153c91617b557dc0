"""agentm: the memory of a coding agent that provably does not lose or misplace a note.

Every public name is importable from here and loaded when it is first used, so `import agentm_kernel` costs next to
nothing. Where a name lives inside the package may change; that it can be had from here does not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.errors import (
        ActivePlanError as ActivePlanError,
    )

_HOMES = {
    "errors": (
        "ActivePlanError",
        "AgentmError",
        "BackendNotInstalledError",
        "CapabilityMismatchError",
        "ConcurrentModificationError",
        "ConfigError",
        "IntegrityError",
        "InvalidContentError",
        "InvalidLocatorError",
        "LocatorConflictError",
        "LockTimeout",
        "NotFoundError",
        "PluginError",
        "ProtocolError",
        "StorageError",
        "StorageIOError",
        "StorageReadOnlyError",
        "StorageRefUnresolvableError",
        "StorageSelectionError",
        "StoreIdentityError",
    ),
    "seam.backend": ("ABSENT", "API_VERSION", "HostCopy", "HostFiles", "StorageBackend"),
    "seam.content": ("content_hash",),
    "seam.context": ("OpenContext",),
    "seam.layer": ("BackendLayer",),
    "seam.locator": ("Locator", "normalize_key"),
    "seam.registry": ("BackendRegistry", "registry"),
    "seam.tiers": ("DerivedMaintenance", "Tier", "TierLayout"),
    "seam.update": ("update",),
    "seam.values": ("Capabilities", "Info"),
    "files.atomic": ("atomic_write",),
    "files.mutex": ("store_mutex",),
    "files.store": ("FileStore",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name == "vault_mutex":  # the name under which the seed documents know it
        name = "store_mutex"
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentm_kernel' has no attribute {name!r}")
    # not importlib.import_module: importing importlib is a tenth of what a hook may cost
    value: object = getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
