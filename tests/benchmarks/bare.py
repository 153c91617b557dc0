"""The least that a durable replacement of a file can cost: what every table of writes is compared with."""

from __future__ import annotations

import os


class BareFolder:
    """A loop somebody might write by hand: temp file, write, fsync, rename, fsync of the directory, nothing else.

    No lock, no comparison, no confinement; the directory is made if need be, and stays open between calls.
    """

    def __init__(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._count = 0

    def write(self, name: str, data: bytes) -> None:
        self._count += 1
        temp = os.path.join(self._path, f".temp-{self._count}")
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, data)
        os.fsync(descriptor)
        os.close(descriptor)
        os.replace(temp, os.path.join(self._path, name))
        os.fsync(self._descriptor)

    def read(self, name: str) -> str:
        with open(os.path.join(self._path, name), encoding="utf-8", newline="") as file:
            return file.read()

    def close(self) -> None:
        os.close(self._descriptor)
