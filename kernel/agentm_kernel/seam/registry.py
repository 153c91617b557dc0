"""Backends registered in this process, by protocol name: for embedding and for tests.

Installed plugins are found through entry points instead (see `plugins`); this registry is asked first.
"""

from __future__ import annotations

from agentm_kernel.errors import ProtocolError
from agentm_kernel.seam.backend import StorageBackend


class BackendRegistry:
    """Names to backend classes. A miss is `None`: whether that is fatal is for selection to say."""

    def __init__(self) -> None:
        self._classes: dict[str, type[StorageBackend]] = {}

    def register(self, protocol: str, backend: type[StorageBackend], *, clobber: bool = False) -> None:
        """Make `backend` available as `protocol`; a name that is taken is refused unless `clobber`."""
        if not (isinstance(backend, type) and issubclass(backend, StorageBackend)) or backend is StorageBackend:
            raise TypeError(f"register a concrete subclass of StorageBackend, not {backend!r}")
        if missing := sorted(getattr(backend, "__abstractmethods__", ())):
            raise TypeError(f"{backend.__name__} is abstract: it lacks {', '.join(missing)}")
        if not isinstance(protocol, str) or not protocol.strip():
            raise ProtocolError("a backend needs a protocol name")
        if protocol in self._classes and not clobber:
            raise ProtocolError(f"protocol '{protocol}' is already registered by {self._classes[protocol].__name__}")
        self._classes[protocol] = backend

    def unregister(self, protocol: str) -> None:
        """Forget `protocol`; a name that is not there is left at that."""
        self._classes.pop(protocol, None)

    def get(self, protocol: str) -> type[StorageBackend] | None:
        return self._classes.get(protocol)

    def __contains__(self, protocol: object) -> bool:
        return protocol in self._classes

    def protocols(self) -> tuple[str, ...]:
        return tuple(sorted(self._classes))


registry = BackendRegistry()  # the process-wide registry. It ships empty.
