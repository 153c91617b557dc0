"""AIP-43: a catalogue of handles, and the providers that a program adds to this process."""

from __future__ import annotations

from agentm_kernel.plugin import ProtocolError
from agentm_storage_policy.providers import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import Opener
    from agentm_storage_policy.handle import StorageHandle


class HandleRegistry:
    """Handles by their id, or else their provider, or else the name of their file; in the order of registration."""

    def __init__(self) -> None:
        self._handles: dict[str, StorageHandle] = {}

    def register(self, handle: StorageHandle) -> None:
        """Add a handle; a key that is taken is an error, never replaced."""
        key = key_of(handle)
        if key in self._handles:
            raise ProtocolError(f"a storage handle is registered as '{key}' already", hint="unregister it first")
        self._handles[key] = handle

    def unregister(self, key: str) -> None:
        self._handles.pop(key, None)

    def get(self, key: str) -> StorageHandle | None:
        return self._handles.get(key)

    def list(self) -> tuple[StorageHandle, ...]:
        return tuple(self._handles.values())

    def lookup(self, predicate: Callable[[StorageHandle], bool]) -> tuple[StorageHandle, ...]:
        return tuple(handle for handle in self._handles.values() if predicate(handle))


def key_of(handle: StorageHandle) -> str:
    """What a handle is registered under."""
    definition = handle.definition
    if definition is not None:
        return definition.id or definition.provider
    return handle.name


_providers: dict[str, Opener] = {}


def register_provider(name: str, opener: Opener) -> None:
    """Add a provider to this process, for programs that embed agentm; plugins declare theirs as entry points."""
    if name in MODES:
        raise ProtocolError(
            f"the provider id '{name}' is one of the enumerated set of AIP-35",
            hint="choose another name for a provider of your own",
        )
    if name in _providers:
        raise ProtocolError(f"the provider '{name}' is registered already", hint="unregister it first")
    _providers[name] = opener


def unregister_provider(name: str) -> None:
    _providers.pop(name, None)


def registered_provider(name: str) -> Opener | None:
    return _providers.get(name)


def registered_providers() -> tuple[str, ...]:
    return tuple(_providers)
