"""Is this the store that this device knows? Compared when it is opened, settled at the first write.

| stamp in the store | record on this device | reading | writing |
|---|---|---|---|
| yes | none | yes | yes, and recorded: a second device joins a shared store by itself |
| yes | the same | yes | yes |
| yes | another | refused | refused |
| none | yes | refused | refused: an unmounted folder, or a wrong path |
| none | none | yes | only a backend that stamps by itself; else refused with what to run |
"""

from __future__ import annotations

from agentm_kernel.errors import StoreIdentityError
from agentm_kernel.seam.layer import BackendLayer
from agentm_kernel.selection.known_stores import known_id
from agentm_kernel.selection.stamp import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.context import OpenContext
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.personal import Authorization


def check_identity(backend: StorageBackend, protocol: str, context: OpenContext) -> str | None:
    """The id that the store carries, `None` without one; `StoreIdentityError` if it is not the one known here."""
    stamp = read_stamp(backend)
    known = known_id(context.state_dir, protocol, backend.describe())
    if known is None or stamp == known:
        return stamp
    place = backend.describe()
    if stamp is None:
        raise StoreIdentityError(
            f"the store at {place} is gone: this device knows store {known} there, and what is there now is unmarked",
            hint="mount or restore it; if it was removed on purpose, run `agentm store forget`",
        )
    raise StoreIdentityError(
        f"the store at {place} is another one: this device knows store {known} there, and it holds {stamp}",
        hint="check the path or the mount; if the change was meant, run `agentm store forget`",
    )


class IdentityGuard(BackendLayer):
    """The innermost layer around every selected backend: no write before the store's identity is settled."""

    def __init__(self, inner: StorageBackend, protocol: str, context: OpenContext) -> None:
        super().__init__(inner)
        self._protocol = protocol
        self._context = context
        self._settled = False

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._settle()
        return self.inner.write(locator, content, if_match=if_match)

    def mkdir(self, locator: Locator) -> Locator:
        self._settle()
        return self.inner.mkdir(locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._settle()
        self.inner.delete(locator, if_match=if_match)

    def write_personal(
        self,
        locator: Locator,
        content: str,
        *,
        authorization: Authorization,
        if_match: str | Absent | None = None,
    ) -> Locator:
        self._settle()
        return super().write_personal(locator, content, authorization=authorization, if_match=if_match)

    def confirm(self) -> None:
        check_identity(self.inner, self._protocol, self._context)

    def _settle(self) -> None:
        if self._settled:
            return
        from agentm_kernel.selection.known_stores import remember
        from agentm_kernel.selection.stamp import stamp

        store_id = check_identity(self.inner, self._protocol, self._context)
        if store_id is None:
            if not self.inner.self_stamping:
                raise unmarked(self.inner, self._protocol)
            store_id = stamp(self.inner)
        place = self.inner.describe()
        if known_id(self._context.state_dir, self._protocol, place) != store_id:
            remember(self._context.state_dir, self._protocol, place, store_id)
        self._settled = True


def confirm_identity(backend: StorageBackend) -> None:
    """Raise `StoreIdentityError` unless a selected store is still the one that this device knows there."""
    while isinstance(backend, BackendLayer):
        if isinstance(backend, IdentityGuard):
            backend.confirm()
        backend = backend.inner


def unmarked(backend: StorageBackend, protocol: str) -> StoreIdentityError:
    """The refusal to write where no store has been set up."""
    place = backend.describe()
    return StoreIdentityError(
        f"the store at {place} has no identity stamp, so nothing is written there",
        hint=f"set it up once: `agentm {protocol} init {place}` (`--adopt` if it has notes already)",
    )
