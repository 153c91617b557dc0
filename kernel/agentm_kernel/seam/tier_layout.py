"""Where the three tiers of a store lie. Hooks that look for an index import this, so it is written by hand."""

from __future__ import annotations

from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.tiers import Tier

_SOURCE, _SHARED_ABSTRACTS, _LOCAL_INDEX = (Locator(key) for key in ("source", "shared-abstracts", "local-index"))


class TierLayout(Frozen):
    """A root per tier. `local_index` names a place in this device's cache for the store, never in the store."""

    source: Locator
    shared_abstracts: Locator
    local_index: Locator

    def __init__(
        self,
        source: Locator = _SOURCE,
        shared_abstracts: Locator = _SHARED_ABSTRACTS,
        local_index: Locator = _LOCAL_INDEX,
    ) -> None:
        if len({source, shared_abstracts, local_index}) < 3:
            raise ValueError("the roots of the three tiers must differ")
        for derived in (shared_abstracts, local_index):
            if derived.parts == source.parts[: len(derived.parts)]:
                raise ValueError(f"the derived root '{derived}' holds the source root '{source}'")
        self._set(source=source, shared_abstracts=shared_abstracts, local_index=local_index)

    @property
    def never_sync_root(self) -> Locator:
        return self.local_index

    def root_for(self, tier: Tier) -> Locator:
        root: Locator = getattr(self, tier.name.lower())
        return root
