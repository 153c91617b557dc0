"""Metadata inside a zip archive on the search path (a zipapp). Imported only where there is one."""

from __future__ import annotations

from zipfile import BadZipFile, ZipFile


class ZippedFolder:
    """The metadata folders at the top of an archive, read like those of a directory."""

    __slots__ = ("_files", "names", "root")

    def __init__(self, root: str, archive: ZipFile) -> None:
        self.root = root
        self.names = sorted({name.partition("/")[0] for name in archive.namelist()})
        self._files = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.count("/") == 1 and name.endswith(("/entry_points.txt", "/METADATA", "/PKG-INFO"))
        }

    def read(self, folder: str, file: str) -> bytes:
        return self._files.get(f"{folder}/{file}", b"")


def open_zip(root: str) -> ZippedFolder | None:
    """The archive at `root`; `None` for any other file, which the import system ignores as well."""
    try:
        with ZipFile(root) as archive:
            return ZippedFolder(root, archive)
    except BadZipFile:
        return None
