"""Source and what is derived from it: which tree is the truth, and which must never be synced.

The kernel only names the tiers. Whatever builds an index or an abstract lives in a plugin.
"""

from __future__ import annotations

from enum import Enum


class Tier(Enum):
    SOURCE = "source"  # the Markdown itself: the truth that the others are rebuilt from
    SHARED_ABSTRACTS = "shared-abstracts"  # derived, but useful everywhere: may be synced
    LOCAL_INDEX = "local-index"  # derived, and a database: replicating it corrupts it, so it never leaves the device

    @property
    def syncs(self) -> bool:
        return self is not Tier.LOCAL_INDEX

    @property
    def derived(self) -> bool:
        return self is not Tier.SOURCE
