"""The place of an encrypted store's index: a sealed image, opened into memory and sealed again when it has changed.

A readable copy of what is encrypted must not lie on the disk, not even for a moment. So the database is in memory
whenever it is open, and everything beside it, outlines for one, is sealed as well.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from agentm_kernel.plugin import Sealed


class SealedPlace(str):
    """The path of an index that is sealed, with what seals and opens it. A plain path is that of a plain index."""

    sealed: Sealed

    @classmethod
    def of(cls, path: str, sealed: Sealed) -> Self:
        place = cls(path)
        place.sealed = sealed
        return place
