"""The answer to "which project is this, and where does its state belong?"."""

from __future__ import annotations

from _collections_abc import Mapping  # loaded by every interpreter; `collections.abc` would import `collections`

from agentm_kernel.errors import ConfigError, StorageError
from agentm_kernel.seam.layout import HARNESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agentm_kernel.device.facts import DeviceFacts
    from agentm_kernel.projects.checkouts import Checkouts
    from agentm_kernel.projects.lookup import Place
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

    __slots__ = ("_identity", "_placement", "backend", "device", "is_local_view", "local_view", "root", "store_name")
    root: str
    backend: StorageBackend | None
    """The selected store; `None` in mode `local`, where nothing is selected."""
    local_view: StorageBackend | None
    """The store as this device has it: `backend` itself, or its copy here if it lies elsewhere."""
    is_local_view: bool
    """Whether `backend` is that copy: hooks read it and wait for no network."""
    device: Device | None
    """The device that it was found on; `None` for one that was made by hand."""
    store_name: str | None
    """The further store that the project is bound to; `None` for the default one, where personal notes are too."""
    _identity: ProjectIdentity | None
    _placement: Place | None

    def __init__(
        self,
        root: str,
        backend: StorageBackend | None,
        *,
        local_view: StorageBackend | None = None,
        device: Device | None = None,
        store_name: str | None = None,
    ) -> None:
        self._fill(root=root, backend=backend, local_view=local_view or backend, device=device, store_name=store_name)
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
        """The name of the project in the store; without a store, the one that it would like to have."""
        place = self._place()
        return self.identity.slug if place is None else place.slug

    @property
    def project_root(self) -> Path:
        from pathlib import Path

        return Path(self.root)

    @property
    def layout(self) -> str:
        """`new` (`projects/<slug>`), `legacy` (`personal-projects/<slug>`) or `none`."""
        place = self._place()
        return "none" if place is None else place.layout

    @property
    def project_locator(self) -> Locator | None:
        """Where the project lies in the store; `None` when no store is asked, and where no project is."""
        place = self._place()
        return None if place is None else place.folder

    @property
    def is_claimed(self) -> bool:
        """Whether the store, as this device has it, says that the project's place is this project's.

        As long as it does not, nothing of this project was written, and nothing is there to be read.
        """
        place = self._place()
        return place is not None and place.record is not None

    @property
    def notice(self) -> str | None:
        """One line for the operator, where the store and the checkout do not quite agree on which project this is."""
        from agentm_kernel.projects.lookup import notice_about

        place = self._place()
        return None if place is None else notice_about(place, self.identity)

    def claim(self) -> Locator:
        """The project's folder in the store, which is its own from now on: before the first write of any kind."""
        from agentm_kernel.projects.claiming import claim
        from agentm_kernel.projects.lookup import refuse_elsewhere

        self.refuse_no_project()
        assert self.backend is not None
        place = claim(self.backend, self.identity, self.checkouts(self.backend))
        refuse_elsewhere(place)
        self._fill(_placement=place)
        return place.folder

    def checkouts(self, store: StorageBackend) -> Checkouts:
        """Which project each checkout of this device is in `store`."""
        from agentm_kernel.projects.checkouts import Checkouts

        return Checkouts(self._device_facts().state_dir, store)

    def refuse_no_project(self) -> None:
        """Raise where everything lies, so that nothing is saved there as if it were one project."""
        from agentm_kernel.projects.root import is_no_project

        if is_no_project(self.root):
            raise ConfigError(
                f"{self.root} is not a project",
                hint="change to the project's folder, or say what is meant with `--project NAME`; a note for every "
                "project is saved with `--personal`",
            )

    @property
    def is_synced(self) -> bool:
        """Whether state belongs into the store: the backend's capability decides, nothing else."""
        return self.backend is not None and self.backend.capabilities.sync

    @property
    def state_locator(self) -> Locator:
        """Where the project's state lies in a synced store."""
        if self.project_locator is None:
            self.refuse_no_project()
            raise StorageError("this project keeps its state in its own folder, not in a store")
        return self.project_locator.child(HARNESS)

    def on_this_device(self) -> Resolution:
        """The same project in the store as this device has it, for hooks: they do not wait for a network."""
        if self.local_view is self.backend:
            return self
        other = Resolution(self.root, self.local_view, device=self.device, store_name=self.store_name)
        other._fill(_identity=self._identity, is_local_view=True)
        return other

    def in_the_store(self) -> Resolution:
        """The same project, looked up in the store itself, for commands that may wait for a network."""
        if self.local_view is self.backend:
            return self
        other = Resolution(self.root, self.backend, device=self.device, store_name=self.store_name)
        other._fill(_identity=self._identity)
        return other

    @property
    def store(self) -> StorageBackend | None:
        """The store, as hooks and tools call it."""
        return self.backend

    def _place(self) -> Place | None:
        if self._placement is None and self.local_view is not None:
            from agentm_kernel.projects.lookup import find_place, refuse_elsewhere
            from agentm_kernel.projects.root import is_no_project

            if is_no_project(self.root):
                return None
            store = self.local_view
            place = find_place(store, self.identity, self.checkouts(store))
            refuse_elsewhere(place)
            self._fill(_placement=place)
        return self._placement

    def _device_facts(self) -> DeviceFacts:
        if self.device is not None:
            return self.device
        from agentm_kernel.device.facts import DeviceFacts

        return DeviceFacts.now()

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
