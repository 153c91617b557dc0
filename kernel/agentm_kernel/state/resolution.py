"""The answer to "which project is this, and where does its state belong?"."""

from __future__ import annotations

from _collections_abc import Mapping  # loaded by every interpreter; `collections.abc` would import `collections`

from agentm_kernel.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agentm_kernel.projects.slug import ProjectIdentity
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator

_KEYS = ("slug", "project_locator", "backend", "project_root", "layout")


class Resolution(Mapping):  # type: ignore[type-arg]
    """Frozen; also a read-only mapping with exactly the five keys of `_KEYS`."""

    __slots__ = ("backend", "identity", "layout", "project_locator", "root")
    identity: ProjectIdentity
    project_locator: Locator | None
    """Where the project lies in the store; `None` when no store is asked."""
    backend: StorageBackend | None
    """The selected store; `None` in mode `local`, where nothing is selected."""
    layout: str
    """`new` (`projects/<slug>`), `legacy` (`personal-projects/<slug>`) or `none`."""
    root: str

    def __init__(
        self,
        identity: ProjectIdentity,
        root: str,
        *,
        backend: StorageBackend | None = None,
        project_locator: Locator | None = None,
        layout: str = "none",
    ) -> None:
        for name, value in (
            ("identity", identity),
            ("root", root),
            ("backend", backend),
            ("project_locator", project_locator),
            ("layout", layout),
        ):
            object.__setattr__(self, name, value)

    @property
    def slug(self) -> str:
        return self.identity.slug

    @property
    def project_root(self) -> Path:
        from pathlib import Path

        return Path(self.root)

    @property
    def is_synced(self) -> bool:
        """Whether state belongs into the store: the backend's capability decides, nothing else."""
        return self.backend is not None and self.backend.capabilities.sync

    @property
    def state_locator(self) -> Locator:
        """Where the project's state lies in a synced store."""
        if self.project_locator is None:
            raise StorageError("this project keeps its state in its own folder, not in a store")
        return self.project_locator.child("_harness")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Resolution is immutable: cannot set {name!r}")

    def __getitem__(self, key: str) -> Any:
        if key not in _KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)

    def __hash__(self) -> int:
        return hash((self.slug, self.root, self.layout))

    def __repr__(self) -> str:
        return f"Resolution(slug={self.slug!r}, root={self.root!r}, layout={self.layout!r})"
