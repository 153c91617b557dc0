"""The state of projects in plain on this device, for a store that is shared between devices.

Hooks and agents need files that they can read. `MirroredState` keeps such a copy, private to the user, and brings the
two together; what it reads and writes in the store goes through the encryption.
"""

from __future__ import annotations

from agentm_kernel.plugin import ConflictCopies, MirroredState, NotFoundError, Sealed, WatchedStore, WorkingCopy

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins

    from agentm_kernel.plugin import ConflictCopy, Locator


class EncryptedStateCopy(MirroredState):
    """An encrypted store with a plain copy of its `_harness/` folders on this device."""

    passes = (*MirroredState.passes, Sealed, WorkingCopy, WatchedStore)  # type: ignore[assignment]

    def stamp_text(self) -> str | None:
        return self.inner.stamp_text()  # it is plain in the store, and known without a network there

    def conflict_copies(self, below: Locator) -> builtins.list[ConflictCopy]:
        """Versions that lost here, and those that a sync tool left in the store."""
        found = self.inner.facet(ConflictCopies)
        there = [] if found is None else found.conflict_copies(below)
        return sorted([*super().conflict_copies(below), *there], key=lambda copy: (copy.note, copy.copy))

    def read_copy(self, copy: Locator) -> str:
        try:
            return super().read_copy(copy)
        except NotFoundError:
            found = self.inner.facet(ConflictCopies)
            if found is None:
                raise
            return found.read_copy(copy)
