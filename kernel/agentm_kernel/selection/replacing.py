"""Telling plugins of the version that a write or a deletion of ours replaces (`agentm_replaced`).

Selection puts this layer on for those who write, and only where an installed plugin listens. The version is read
before it is replaced, told, and then replaced on condition that it still is what was told; so what plugins keep is
exactly what was lost, whoever else writes at the same time, and a crash in between loses nothing.
"""

from __future__ import annotations

from agentm_kernel.device.installed import listens_to
from agentm_kernel.errors import ConcurrentModificationError, InvalidContentError, NotFoundError
from agentm_kernel.plugins.table import refusal
from agentm_kernel.seam.backend import ABSENT, Absent, BackendLayer, StorageBackend
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.facets import FACETS
from agentm_kernel.seam.update import read_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state import Device

    Tell = Callable[[Locator, str | None, str | None], None]
    """Told the note, its text before (`None` for a new note) and its text afterwards (`None` if it is deleted)."""

HOOK = "agentm_replaced"
_ATTEMPTS = 50


def with_listeners(device: Device, backend: StorageBackend) -> StorageBackend:
    """The store with plugins told of what is replaced in it; the store itself where none of them listens."""
    records = device.plugins.records
    if not any(listens_to(record, HOOK) and refusal(record, device.config) is None for record in records):
        return backend
    from agentm_kernel.files import current_directory
    from agentm_kernel.plugins.hooks import HookCaller
    from agentm_kernel.plugins.hookspecs import HookContext

    return ReplacementTelling(backend, HookCaller(HookContext(device, current_directory(), store=backend)).replaced)


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
        self._replace(locator, content, if_match)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._replace(locator, None, if_match)

    def _replace(self, locator: Locator, new: str | None, if_match: str | Absent | None) -> None:
        """Tell what is there, then replace exactly that; without a condition of the caller's, whatever it is."""
        for attempt in range(1, _ATTEMPTS + 1):
            condition = if_match
            try:
                old = None if if_match is ABSENT else self._text(locator, if_match)
            except InvalidContentError:
                return self._carry_out(locator, new, if_match)  # no version of a note: there is nothing to tell
            if old is not None:
                condition = content_hash(old)
                if if_match not in (None, condition):
                    raise ConcurrentModificationError(
                        f"'{locator}' was changed by somebody else meanwhile", hint="read it again, then change it"
                    )
                if old != new:
                    self._tell(locator, old, new)
            elif new is not None and if_match is None:
                condition = ABSENT
            try:
                self._carry_out(locator, new, condition)
            except (ConcurrentModificationError, NotFoundError):
                self._last_read = None
                if if_match is not None or (old is None and new is None) or attempt == _ATTEMPTS:
                    raise
                continue
            if old is None:
                self._tell(locator, None, new)
            return None
        raise AssertionError("the loop ends by returning or raising")

    def _carry_out(self, locator: Locator, new: str | None, condition: str | Absent | None) -> None:
        if new is not None:
            self.inner.write(locator, new, if_match=condition)
        else:
            self.inner.delete(locator, if_match=condition if isinstance(condition, str) else None)

    def _text(self, locator: Locator, if_match: str | Absent | None) -> str | None:
        """What is stored; what was read last, if that is what the caller's condition speaks of."""
        if isinstance(if_match, str) and self._last_read is not None:
            key, text = self._last_read
            if key == locator.key and content_hash(text) == if_match:
                return text
        return read_or_none(self.inner, locator)
