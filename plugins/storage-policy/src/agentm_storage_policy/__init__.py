"""STORAGE.md for agentm (AIP-35): where notes lie, who may use them and when they sync, in one reviewed file.

Names are loaded when they are used: a hook that meets a policy imports what it needs of this package and no more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_storage_policy.definition import StorageDefinition as StorageDefinition
    from agentm_storage_policy.errors import (
        Finding as Finding,
        RefUnresolvableError as RefUnresolvableError,
        StorageAuthUnresolvableError as StorageAuthUnresolvableError,
        StorageCommitFailedError as StorageCommitFailedError,
        StorageConfigInvalidError as StorageConfigInvalidError,
        StorageDeniedError as StorageDeniedError,
        StoragePolicyError as StoragePolicyError,
        StorageProviderUnknownError as StorageProviderUnknownError,
        StoragePullFailedError as StoragePullFailedError,
        StoragePushFailedError as StoragePushFailedError,
    )
    from agentm_storage_policy.handle import (
        StorageHandle as StorageHandle,
        define_storage as define_storage,
        load_storage as load_storage,
    )
    from agentm_storage_policy.lifecycle import EventBus as EventBus, LifecycleEvent as LifecycleEvent
    from agentm_storage_policy.registry import (
        HandleRegistry as HandleRegistry,
        register_provider as register_provider,
        unregister_provider as unregister_provider,
    )
    from agentm_storage_policy.store import PolicyStore as PolicyStore

__version__ = "0.2.0"

_HOMES = {
    "definition": ("StorageDefinition",),
    "errors": (
        "Finding",
        "RefUnresolvableError",
        "StorageAuthUnresolvableError",
        "StorageCommitFailedError",
        "StorageConfigInvalidError",
        "StorageDeniedError",
        "StoragePolicyError",
        "StorageProviderUnknownError",
        "StoragePullFailedError",
        "StoragePushFailedError",
    ),
    "handle": ("StorageHandle", "define_storage", "load_storage"),
    "lifecycle": ("EventBus", "LifecycleEvent"),
    "registry": ("HandleRegistry", "register_provider", "unregister_provider"),
    "store": ("PolicyStore",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentm_storage_policy' has no attribute {name!r}")
    value: object = getattr(__import__(f"agentm_storage_policy.{home}", fromlist=[name]), name)
    globals()[name] = value
    return value
