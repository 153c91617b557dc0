"""Which files and folders were sent to the disk, found out by counting the calls that do it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

_Identity = tuple[int, int]


class SyncWatch:
    """While it is entered, every `fsync` and `fdatasync` of this process is noted, and made."""

    def __init__(self) -> None:
        self._synced: set[_Identity] = set()
        self._real = {name: getattr(os, name) for name in ("fsync", "fdatasync") if hasattr(os, name)}

    def __enter__(self) -> Self:
        for name, real in self._real.items():
            setattr(os, name, self._noting(real))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _noting(self, real: Any) -> Any:
        def noted(file: Any) -> None:
            real(file)
            status = os.fstat(file if isinstance(file, int) else file.fileno())
            self._synced.add((status.st_dev, status.st_ino))

        return noted

    def begin(self) -> None:
        """Forget what was noted so far."""
        self._synced.clear()

    def missing(self, file: str | None, folder: str | None) -> list[str]:
        """What was not sent to the disk since `begin`, in words."""
        words = {file: "its bytes were not sent to the disk", folder: "its name was not sent to the disk"}
        return [said for path, said in words.items() if path is not None and _identity(path) not in self._synced]


def _identity(path: str) -> _Identity:
    status = os.stat(path)
    return status.st_dev, status.st_ino
