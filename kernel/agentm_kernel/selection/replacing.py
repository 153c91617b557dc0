"""Telling plugins of the version that a write or a deletion of ours replaces (`agentm_replaced`).

Selection puts this layer on for those who write, and only where an installed plugin listens. The version is read
before it is replaced, told, and then replaced on condition that it still is what was told; so what plugins keep is
exactly what was lost, whoever else writes at the same time, and a crash in between loses nothing.
"""

from __future__ import annotations

from agentm_kernel.errors import ConcurrentModificationError, InvalidContentError, NotFoundError
from agentm_kernel.seam.backend import ABSENT, BackendLayer
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.facets import FACETS
from agentm_kernel.seam.update import read_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state import Device

    Tell = Callable[[Locator, str | None, str | None], None]
    """Told the note, its text before (`None` for a new note) and its text afterwards (`None` if it is deleted)."""

HOOK = "agentm_replaced"
_ATTEMPTS = 50


def with_listeners(device: Device, backend: StorageBackend) -> StorageBackend:
    """The store with plugins told of what is replaced in it; the store itself where none of them listens."""
    from agentm_kernel.device.installed import listens_to

    if not any(listens_to(record, HOOK) for record in device.plugins.records):
        return backend
    import os

    from agentm_kernel.plugins.hooks import HookCaller
    from agentm_kernel.plugins.values import HookContext

    caller = HookCaller(HookContext(device, os.getcwd(), store=backend))
    return ReplacementTelling(backend, caller.replaced) if caller.has_listeners(HOOK) else backend


class ReplacementTelling(BackendLayer):
    """Every verb of `inner`; what a write or a deletion replaces is told first."""

    passes = FACETS  # an append in place is not told: it replaces nothing

    def __init__(self, inner: StorageBackend, tell: Tell) -> None:
        super().__init__(inner)
        self._tell = tell
        self._last_read: tuple[str, str] | None = None

    def read(self, locator: Locator) -> str:
        text = self.inner.read(locator)
        self._last_read = locator.key, text  # most writes follow a read of the same note: it need not be read twice
        return text

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if if_match is ABSENT:
            written = self.inner.write(locator, content, if_match=ABSENT)
            self._tell(locator, None, content)
            return written

        def write(condition: str | Absent | None) -> Locator:
            return self.inner.write(locator, content, if_match=condition)

        return self._replace(locator, content, if_match, write)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        def delete(condition: str | Absent | None) -> Locator:
            self.inner.delete(locator, if_match=condition if isinstance(condition, str) else None)
            return locator

        self._replace(locator, None, if_match, delete)

    def _replace(
        self,
        locator: Locator,
        new: str | None,
        if_match: str | Absent | None,
        carry_out: Callable[[str | Absent | None], Locator],
    ) -> Locator:
        """Tell what is there, then replace exactly that; without a condition of the caller's, whatever it is."""
        for attempt in range(_ATTEMPTS):
            try:
                old = self._text(locator, if_match)
            except InvalidContentError:
                return carry_out(if_match)  # no text, so no version of a note: there is nothing to tell
            condition: str | Absent | None
            if old is None:
                condition = if_match if if_match is not None or new is None else ABSENT
            else:
                condition = content_hash(old)
                if if_match is not None and condition != if_match:
                    raise ConcurrentModificationError(
                        f"'{locator}' was changed by somebody else meanwhile", hint="read it again, then change it"
                    )
                if old != new:
                    self._tell(locator, old, new)
            try:
                done = carry_out(condition)
            except (ConcurrentModificationError, NotFoundError):
                self._last_read = None
                if if_match is not None or (old is None and new is None) or attempt + 1 == _ATTEMPTS:
                    raise
                continue
            if old is None:
                self._tell(locator, None, new)
            return done
        raise AssertionError("the loop ends by returning or raising")

    def _text(self, locator: Locator, if_match: str | Absent | None) -> str | None:
        """What is stored; what was read last, if that is what the caller's condition speaks of."""
        if isinstance(if_match, str) and self._last_read is not None:
            key, text = self._last_read
            if key == locator.key and content_hash(text) == if_match:
                return text
        return read_or_none(self.inner, locator)
