"""How far away the notes of a store are: what a hook may read, and what it must not wait for."""

from __future__ import annotations

from agentm_kernel.plugin import DeviceCopy, Sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend


def is_elsewhere(backend: StorageBackend) -> bool:
    """Whether the notes are behind a network, where no hook may go. What is encrypted here is here all the same."""
    return _as_held(backend).facet(DeviceCopy) is not None


def has_times(backend: StorageBackend) -> bool:
    """Whether the store is files on this device, whose folders have times that mean something."""
    return _as_held(backend).capabilities.device_files


def _as_held(backend: StorageBackend) -> StorageBackend:
    sealed = backend.facet(Sealed)
    return backend if sealed is None else sealed.as_stored
