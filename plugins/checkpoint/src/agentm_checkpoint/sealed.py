"""Stores that hold their notes encrypted: checkpoints and history keep what is stored, and open it to show it."""

from __future__ import annotations

from agentm_kernel.plugin import Locator, Sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend


def as_stored(backend: StorageBackend) -> StorageBackend:
    """The store as a checkpoint records it: a copy of what is encrypted stays encrypted."""
    sealed = backend.facet(Sealed)
    return backend if sealed is None else sealed.as_stored


def opened(backend: StorageBackend, key: str, stored: bytes) -> bytes:
    """The text of a version that a checkpoint or the history has, as the verbs of this store would give it."""
    sealed = backend.facet(Sealed)
    return stored if sealed is None else sealed.open_text(Locator(key), stored.decode()).encode()


def is_sealed(backend: StorageBackend) -> bool:
    return backend.facet(Sealed) is not None
