"""Metadata inside a zip archive on the search path (a zipapp). Imported only where there is one."""

from __future__ import annotations

import os
import stat
from zipfile import BadZipFile, ZipFile

_FILES = ("/entry_points.txt", "/METADATA", "/PKG-INFO")


class ZippedFolder:
    """The metadata folders at the top of an archive, read like those of a directory."""

    __slots__ = ("_files", "_unreadable", "names", "root")

    def __init__(self, root: str, archive: ZipFile, largest: int, unreadable: list[str]) -> None:
        self.root = root
        self.names = sorted({name.partition("/")[0] for name in archive.namelist()})
        self._unreadable = unreadable
        self._files: dict[str, bytes] = {}
        for info in archive.infolist():
            if info.filename.count("/") != 1 or not info.filename.endswith(_FILES):
                continue
            if info.file_size > largest:
                self.report(f"{os.path.join(root, info.filename)}: it has more than {largest:,} bytes")
                continue
            self._files[info.filename] = archive.read(info)

    def mentions(self, folder: str, word: bytes) -> bool:
        return word in self.read(folder, "entry_points.txt")

    def read(self, folder: str, file: str) -> bytes:
        return self._files.get(f"{folder}/{file}", b"")

    def report(self, line: str) -> None:
        self._unreadable.append(line)


def open_zip(root: str, largest: int, unreadable: list[str]) -> ZippedFolder | None:
    """The archive at `root`; `None` for any other file, which the import system ignores as well."""
    if not stat.S_ISREG(os.stat(root).st_mode):
        return None  # opening a FIFO would wait for somebody who writes to it
    try:
        with ZipFile(root) as archive:
            return ZippedFolder(root, archive, largest, unreadable)
    except BadZipFile:
        return None
