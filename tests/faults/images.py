"""File systems in image files, and what their disk holds at one instant while they are in use.

A copy of a busy disk is a state that the disk never had: its early blocks are older than its late ones. So the image
is read twice. If both readings are equal, every block had its value from its first reading to its second, all of them
at once in the instant between the two readings: that is what a power cut at that instant would leave. It needs
neither a snapshotting file system below nor a device mapper.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tests.faults import file_systems
from tests.faults.file_systems import mounted
from tests.faults.harness import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    Extents = list[tuple[int, bytes]]
    """The parts of an image that were ever written, each with its place."""

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Kind:
    """A kind of file system: how it is made, and how a copy is mounted beside its original."""

    name: str
    make: tuple[str, ...]
    megabytes: int
    copy_options: str = ""


EXT4 = Kind("ext4", ("mkfs.ext4", "-q", "-F"), 64)
BTRFS = Kind("btrfs", ("mkfs.btrfs", "-q", "-f"), 128)
XFS = Kind("xfs", ("mkfs.xfs", "-q", "-f"), 320, copy_options="nouuid")


@cache
def why_not(kind: Kind) -> str | None:
    """The reason why this machine cannot use such images; `None` if it can."""
    reason = file_systems.why_not(kind.make[0])
    if reason is None:
        try:
            with scratch() as folder, image_of(kind, folder):
                pass
        except RuntimeError as error:
            reason = str(error)
    return reason


@contextmanager
def image_of(kind: Kind, folder: str) -> Iterator[Image]:
    """A new file system of this kind, mounted; its image lies in memory."""
    with mounted("-t", "tmpfs", "-o", "size=1g", "tmpfs", on=os.path.join(folder, "memory")) as memory:
        image = Image(kind, os.path.join(memory, "disk"), os.path.join(folder, "mounted"))
        with open(image.path, "wb") as file:
            file.truncate(kind.megabytes * _MEGABYTE)
        file_systems.run(*kind.make, image.path)
        with mounted("-o", "loop", image.path, on=image.mounted):
            yield image


@dataclass(frozen=True)
class Image:
    """A mounted file system and the file that is its disk."""

    kind: Kind
    path: str
    mounted: str

    @contextmanager
    def after_power_cut(self) -> Iterator[str]:
        """The file system as the next start would find it if the power went now, mounted; the original runs on."""
        copy = f"{self.path}.cut"
        _write_extents(copy, _read_at_one_instant(self.path), os.path.getsize(self.path))
        options = ",".join(filter(None, ("loop", self.kind.copy_options)))
        try:
            with mounted("-o", options, copy, on=f"{self.mounted}.cut") as place:
                yield place
        finally:
            os.unlink(copy)


def _read_at_one_instant(path: str) -> Extents:
    reading = _read_extents(path)
    while (again := _read_extents(path)) != reading:
        reading = again
    return reading


def _read_extents(path: str) -> Extents:
    extents = []
    end = os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        position = 0
        while position < end:
            try:
                start = os.lseek(file.fileno(), position, os.SEEK_DATA)
            except OSError:
                break  # nothing but a hole up to the end
            position = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            extents.append((start, os.pread(file.fileno(), position - start, start)))
    return extents


def _write_extents(path: str, extents: Extents, size: int) -> None:
    with open(path, "wb") as file:
        for start, data in extents:
            file.seek(start)
            file.write(data)
        file.truncate(size)
