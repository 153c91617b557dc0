"""The answer to "which project is this, and where does its state belong?"."""

from __future__ import annotations

from _collections_abc import Mapping  # loaded by every interpreter; `collections.abc` would import `collections`

from agentm_kernel.errors import StorageError
from agentm_kernel.seam.layout import HARNESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agentm_kernel.projects.slug import ProjectIdentity
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state.device import Device

_KEYS = ("slug", "project_locator", "backend", "project_root", "layout")


class Resolution(Mapping):  # type: ignore[type-arg]
    """Frozen; also a read-only mapping with exactly the five keys of `_KEYS`.

    The project's name and its place in the store are looked up when they are first asked for: a hook that only needs
    to know that state lies in the checkout does not pay for reading git's files.
    """

    __slots__ = ("_identity", "_placement", "backend", "device", "is_local_view", "local_view", "root")
    root: str
    backend: StorageBackend | None
    """The selected store; `None` in mode `local`, where nothing is selected."""
    local_view: StorageBackend | None
    """The store as this device has it: `backend` itself, or its copy here if it lies elsewhere."""
    is_local_view: bool
    """Whether `backend` is that copy: hooks read it and wait for no network."""
    device: Device | None
    """The device that it was found on; `None` for one that was made by hand."""
    _identity: ProjectIdentity | None
    _placement: tuple[str, Locator | None] | None

    def __init__(
        self,
        root: str,
        backend: StorageBackend | None,
        *,
        local_view: StorageBackend | None = None,
        device: Device | None = None,
    ) -> None:
        self._fill(root=root, backend=backend, local_view=local_view or backend, device=device)
        self._fill(_identity=None, _placement=None, is_local_view=False)

    @property
    def identity(self) -> ProjectIdentity:
        """The project's name, and which repository it is."""
        if self._identity is None:
            from agentm_kernel.projects.slug import identify_project

            self._fill(_identity=identify_project(self.root))
        assert self._identity is not None
        return self._identity

    @property
    def slug(self) -> str:
        return self.identity.slug

    @property
    def project_root(self) -> Path:
        from pathlib import Path

        return Path(self.root)

    @property
    def layout(self) -> str:
        """`new` (`projects/<slug>`), `legacy` (`personal-projects/<slug>`) or `none`."""
        return self._place()[0]

    @property
    def project_locator(self) -> Locator | None:
        """Where the project lies in the store; `None` when no store is asked."""
        return self._place()[1]

    @property
    def is_synced(self) -> bool:
        """Whether state belongs into the store: the backend's capability decides, nothing else."""
        return self.backend is not None and self.backend.capabilities.sync

    @property
    def state_locator(self) -> Locator:
        """Where the project's state lies in a synced store."""
        if self.project_locator is None:
            raise StorageError("this project keeps its state in its own folder, not in a store")
        return self.project_locator.child(HARNESS)

    def on_this_device(self) -> Resolution:
        """The same project in the store as this device has it, for hooks: they do not wait for a network."""
        if self.local_view is self.backend:
            return self
        other = Resolution(self.root, self.local_view, device=self.device)
        other._fill(_identity=self._identity, is_local_view=True)
        return other

    @property
    def store(self) -> StorageBackend | None:
        """The store, as hooks and tools call it."""
        return self.backend

    def _place(self) -> tuple[str, Locator | None]:
        if self._placement is None:
            self._fill(_placement=("none", None) if self.local_view is None else self._place_in(self.local_view))
        assert self._placement is not None
        return self._placement

    def _place_in(self, store: StorageBackend) -> tuple[str, Locator]:
        """The place, once it is certain that no other project of this name has it."""
        from agentm_kernel.projects.in_store import place_in_store

        if self.is_synced:
            from agentm_kernel.projects.ownership import check_ownership

            check_ownership(store, self.slug, self.identity.remote)
        return place_in_store(store, self.slug)

    def _fill(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Resolution is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Resolution is immutable: cannot delete {name!r}")

    def __getitem__(self, key: str) -> Any:
        if key not in _KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)

    def __hash__(self) -> int:
        return hash((self.root, id(self.backend)))

    def __repr__(self) -> str:
        return f"Resolution(root={self.root!r}, backend={self.backend!r})"
