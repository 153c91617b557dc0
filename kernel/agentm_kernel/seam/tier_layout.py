"""Where the three tiers of a store lie, and what keeps the derived ones.

Hooks that look for an index import this, so it does without `enum`, which takes as long to load as half a hook.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentm_kernel.seam import Frozen
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.tiers import Tier


class TierLayout(Frozen):
    """A root per tier. `local_index` names a place in this device's cache for the store, never in the store."""

    source: Locator = Locator("source")
    shared_abstracts: Locator = Locator("shared-abstracts")
    local_index: Locator = Locator("local-index")

    def __post_init__(self) -> None:
        if len({self.source, self.shared_abstracts, self.local_index}) < 3:
            raise ValueError("the roots of the three tiers must differ")
        for derived in (self.shared_abstracts, self.local_index):
            if derived.parts == self.source.parts[: len(derived.parts)]:
                raise ValueError(f"the derived root '{derived}' holds the source root '{self.source}'")

    @property
    def never_sync_root(self) -> Locator:
        return self.local_index

    def root_for(self, tier: Tier) -> Locator:
        root: Locator = getattr(self, tier.name.lower())
        return root


class DerivedMaintenance(ABC):
    """What keeps a derived tier up to date. Implemented by plugins, never here."""

    @abstractmethod
    def reindex(self, tier: Tier) -> None:
        """Rebuild a derived tier from the source."""

    @abstractmethod
    def changed_since(self, mtime: float) -> list[Locator]:
        """Source locators that changed after `mtime`."""
