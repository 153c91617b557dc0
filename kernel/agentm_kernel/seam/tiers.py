"""Source and what is derived from it: which tree is the truth, and which must never be synced.

The kernel only names the tiers. Whatever builds an index or an abstract lives in a plugin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

from agentm_kernel.seam.locator import Locator


class Tier(Enum):
    SOURCE = "source"
    """The Markdown itself: the truth that the others are rebuilt from."""
    SHARED_ABSTRACTS = "shared-abstracts"
    """Derived, but useful everywhere: may be synced."""
    LOCAL_INDEX = "local-index"
    """Derived, and a database: replicating it corrupts it, so it never leaves the device."""

    @property
    def syncs(self) -> bool:
        return self is not Tier.LOCAL_INDEX

    @property
    def derived(self) -> bool:
        return self is not Tier.SOURCE


@dataclass(frozen=True)
class TierLayout:
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
        roots = {
            Tier.SOURCE: self.source,
            Tier.SHARED_ABSTRACTS: self.shared_abstracts,
            Tier.LOCAL_INDEX: self.local_index,
        }
        return roots[tier]


class DerivedMaintenance(ABC):
    """What keeps a derived tier up to date. Implemented by plugins, never here."""

    @abstractmethod
    def reindex(self, tier: Tier) -> None:
        """Rebuild a derived tier from the source."""

    @abstractmethod
    def changed_since(self, mtime: float) -> list[Locator]:
        """Source locators that changed after `mtime`."""
