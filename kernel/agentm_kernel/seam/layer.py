"""A backend around a backend: identity, policy and integrity add a rule and delegate the rest."""

from __future__ import annotations

from agentm_kernel.errors import StorageError
from agentm_kernel.seam.backend import DeviceFiles, PersonalSpace, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_kernel.seam.backend import Absent
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.personal import Authorization
    from agentm_kernel.seam.tiers import TierLayout
    from agentm_kernel.seam.values import Capabilities, Info


class BackendLayer(StorageBackend, DeviceFiles, PersonalSpace):
    """Every verb of `inner`; a subclass overrides the ones that its rule concerns."""

    def __init__(self, inner: StorageBackend) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    def read(self, locator: Locator) -> str:
        return self.inner.read(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        return self.inner.write(locator, content, if_match=if_match)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        return self.inner.list(locator)

    def exists(self, locator: Locator) -> bool:
        return self.inner.exists(locator)

    def info(self, locator: Locator) -> Info:
        return self.inner.info(locator)

    def mkdir(self, locator: Locator) -> Locator:
        return self.inner.mkdir(locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self.inner.delete(locator, if_match=if_match)

    def walk(self, locator: Locator) -> Iterator[Info]:
        return self.inner.walk(locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        return self.inner.foreign_entries(locator)

    def describe(self) -> str:
        return self.inner.describe()

    def check_usable(self, *, read_only: bool) -> None:
        self.inner.check_usable(read_only=read_only)

    def check_reachable(self, seconds: float) -> None:
        self.inner.check_reachable(seconds)

    def check_allowed(self, action: str) -> None:
        self.inner.check_allowed(action)

    def make_place(self) -> None:
        self.inner.make_place()

    def stamp_text(self) -> str | None:
        return self.inner.stamp_text()

    @property
    def tier_layout(self) -> TierLayout:
        return self.inner.tier_layout

    def device_path(self, locator: Locator) -> str:
        if not isinstance(self.inner, DeviceFiles):
            raise StorageError(f"{self.describe()} has no files on this host")
        return self.inner.device_path(locator)

    def personal_path(self, locator: Locator) -> str:
        return self._personal_space().personal_path(locator)

    def write_personal(
        self,
        locator: Locator,
        content: str,
        *,
        authorization: Authorization,
        if_match: str | Absent | None = None,
    ) -> Locator:
        space = self._personal_space()
        return space.write_personal(locator, content, authorization=authorization, if_match=if_match)

    def _personal_space(self) -> PersonalSpace:
        if not isinstance(self.inner, PersonalSpace):
            raise StorageError(f"{self.describe()} has no personal space beside it")
        return self.inner


def unwrap(backend: StorageBackend) -> StorageBackend:
    """The innermost backend: the one that the plugin made."""
    while isinstance(backend, BackendLayer):
        backend = backend.inner
    return backend
