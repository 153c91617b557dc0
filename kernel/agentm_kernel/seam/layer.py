"""A backend around a backend: identity, policy and integrity add a rule and delegate the rest."""

from __future__ import annotations

from agentm_kernel.seam.backend import StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator
    from typing import Any, ClassVar, TypeVar

    from agentm_kernel.seam.backend import Absent
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.tier_layout import TierLayout
    from agentm_kernel.seam.values import Capabilities, Info

    F = TypeVar("F")


class BackendLayer(StorageBackend):
    """Every verb of `inner`; a subclass overrides the ones that its rule concerns."""

    passes: ClassVar[tuple[type, ...]] = ()
    """The facets of `inner` that this layer lets through. Any other is `None`, even if `inner` has it."""

    changes: ClassVar[tuple[str, ...]] = ()
    """The capabilities that it does not declare as `inner` does, such as `encryption`; the kit asks for the rest."""

    def __init__(self, inner: StorageBackend) -> None:
        self.inner = inner
        self.self_stamping = inner.self_stamping

    def facet(self, kind: type[F]) -> F | None:
        if isinstance(self, kind):
            return self
        found = self.inner.facet(kind) if kind in self.passes else None
        return None if found is None else self.wrap_facet(kind, found)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        """What to hand out in the place of `found`, a facet of `inner`, where this layer's rule has a say in it."""
        return found

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
