"""The index of an encrypted store: a sealed image, opened into memory and sealed again when it has changed.

A readable copy of what is encrypted must not lie on the disk, not even for a moment. So the database is in memory
whenever it is open, and everything beside it, outlines for one, is sealed as well.
"""

from __future__ import annotations

import os

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


def read_beside(index: str, path: str) -> bytes:
    """A file that lies beside an index: `OSError` if it cannot be read, `ValueError` if it cannot be opened."""
    with open(path, "rb") as file:
        data = file.read()
    return opened(index, data) if isinstance(index, SealedPlace) else data


def write_beside(index: str, path: str, data: bytes) -> None:
    """Put a file beside an index, whole or not at all."""
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(index.sealed.seal_derived(data) if isinstance(index, SealedPlace) else data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def opened(index: SealedPlace, data: bytes) -> bytes:
    """What is inside of a sealed file; `ValueError` if it is damaged or somebody else's."""
    from agentm_kernel.plugin import IntegrityError

    try:
        return index.sealed.open_derived(data)
    except IntegrityError as error:
        raise ValueError(error.message) from error
