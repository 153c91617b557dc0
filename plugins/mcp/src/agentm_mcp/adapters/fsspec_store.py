"""An agentm store as an fsspec file system, `agentm://`: for pandas, DuckDB, Dask and whatever else opens URLs.

    import fsspec

    with fsspec.open("agentm://personal/facts/tabs.md", "r") as file:
        print(file.read())

What is written appears when the file is closed, whole. A file that is opened for writing is stored only if it still
is what it was when it was opened, `x` only if there is none, and `a` adds to whatever is there then. `pipe` and
copies replace what is there, as the interface has it; `pipe_file(…, if_match=fs.checksum(path))` is on condition too.
"""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime
from errno import ENOTEMPTY
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped]
from fsspec.utils import stringify_path  # type: ignore[import-untyped]

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    LocatorConflictError,
    NotFoundError,
    content_hash,
)
from agentm_mcp.adapters.octets import bytes_of, text_of
from agentm_mcp.adapters.tree import FILE, FOLDER, KEEP, Tree

if TYPE_CHECKING:
    from agentm_kernel.plugin import Absent, StorageBackend
    from agentm_mcp.adapters.tree import Entry

_MODES = ("rb", "wb", "xb", "ab", "r+b", "w+b", "x+b")


class AgentmFileSystem(AbstractFileSystem):  # type: ignore[misc] # fsspec has no types
    """The files of a store: this device's, the configured one of that name, or one that is given.

    `folder` makes a part of it the root. agentm's own records (`_meta`, `_inbox`) can be read and not written.
    """

    protocol = "agentm"
    root_marker = ""
    cachable = False  # a store that was configured anew is another one

    def __init__(self, store: StorageBackend | str | None = None, folder: str = "", **options: Any) -> None:
        super().__init__(store=store, folder=folder, **options)
        self.files = Tree(store, folder)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return stringify_path(path).removeprefix("agentm://").strip("/")

    # -- looking ----------------------------------------------------------------------------------------------

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return _facts(self.files.entry(self._strip_protocol(path)))

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        entry = self.files.entry(path)
        found = self.files.entries(path) if entry.is_dir else [entry]
        return [_facts(each) if detail else each.path for each in found]

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    def checksum(self, path: str) -> str:
        """The hash of what is stored, which a conditional write takes."""
        return content_hash(self.files.read(self._strip_protocol(path)))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        return self._read(self._strip_protocol(path))[start:end]

    def _read(self, path: str) -> bytes:
        if self.files.kind(path) == FOLDER:
            raise IsADirectoryError(path)
        return self.files.read_bytes(path)

    # -- writing ----------------------------------------------------------------------------------------------

    def pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", if_match: str | Absent | None = None, **_: Any
    ) -> None:
        if self._intrans:
            with self.open(path, "xb" if mode == "create" else "wb") as file:
                file.write(value)
        else:
            self.keep(self._strip_protocol(path), value, ABSENT if mode == "create" else if_match)

    def put_file(
        self, lpath: str, rpath: str, callback: Any = DEFAULT_CALLBACK, mode: str = "overwrite", **options: Any
    ) -> None:
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as file:
            data = file.read()
        callback.set_size(len(data))
        self.pipe_file(rpath, data, mode=mode, **options)
        callback.relative_update(len(data))

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.files.kind(path1) == FOLDER:
            self._make_folder(path2)
        else:
            self.keep(path2, self.files.read_bytes(path1), None)

    def keep(self, path: str, data: bytes, if_match: str | Absent | None) -> None:
        """Write a file on condition, with the errors that programs know."""
        try:
            self.files.write_bytes(path, bytes(data), if_match=if_match)
        except ConcurrentModificationError:
            if if_match is ABSENT:
                raise FileExistsError(path) from None
            raise
        except LocatorConflictError as error:
            raise _told(self.files, path, error) from error

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: object = None,
        **_: Any,
    ) -> AgentmFile:
        path = self._strip_protocol(path)
        if mode not in _MODES:
            raise ValueError(f"a file of a store is opened as one of {', '.join(_MODES)}, not {mode!r}")
        kind = self.files.kind(path)
        if kind == FOLDER:
            raise IsADirectoryError(path)
        if "x" in mode and kind == FILE:
            raise FileExistsError(path)
        if "r" in mode and kind is None:
            raise FileNotFoundError(path)
        return AgentmFile(self, path, mode, autocommit=autocommit)

    # -- folders, moving, removing ----------------------------------------------------------------------------

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        path = self._strip_protocol(path)
        if self.files.kind(path) is not None:
            raise FileExistsError(path)
        self._make_folder(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        path = self._strip_protocol(path)
        kind = self.files.kind(path)
        if kind == FILE or (kind and not exist_ok):
            raise FileExistsError(path)
        self._make_folder(path)

    def _make_folder(self, path: str) -> None:
        try:
            self.files.make_folder(path)
        except LocatorConflictError as error:
            raise _told(self.files, path, error) from error

    def rmdir(self, path: str) -> None:
        path = self._strip_protocol(path)
        if self.files.kind(path) != FOLDER:
            raise NotADirectoryError(path) if self.files.kind(path) else FileNotFoundError(path)
        if self.files.entries(path):
            raise OSError(ENOTEMPTY, "Directory not empty", path)
        if path:
            self.files.delete(f"{path}/{KEEP}")

    def rm_file(self, path: str) -> None:
        path = self._strip_protocol(path)
        if self.files.kind(path) != FILE:
            raise IsADirectoryError(path) if self.files.kind(path) else FileNotFoundError(path)
        self.files.delete(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        paths = self.expand_path(path, recursive=recursive, maxdepth=maxdepth)
        were_there = {each for each in paths if self.files.kind(each)}
        for each in reversed(paths):
            kind = self.files.kind(each)
            if kind == FOLDER:
                self.rmdir(each)
            elif kind == FILE or each not in were_there:  # a folder goes with the last file in it
                self.rm_file(each)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **_: Any) -> None:
        """Move files. What somebody writes to one meanwhile stays where it was written."""
        moving = _Moving(self.files.store, self.files.root.key)
        moving.copy(path1, path2, recursive=recursive, maxdepth=maxdepth, on_error="raise")
        for folder in reversed(moving.left):
            if self.files.kind(folder) == FOLDER and not self.files.entries(folder):
                self.rmdir(folder)


class _Moving(AgentmFileSystem):
    """The same files; a copy leaves nothing behind."""

    def __init__(self, store: StorageBackend, folder: str) -> None:
        super().__init__(store, folder)
        self.left: list[str] = []
        """Folders whose files were moved."""

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if path1 == path2:
            return
        if self.files.kind(path1) == FOLDER:
            super().cp_file(path1, path2)
            self.left.append(path1)
            return
        text = self.files.read(path1)
        self.keep(path2, bytes_of(path1, text), None)
        self.files.store.delete(self.files.locator(path1), if_match=content_hash(text))


class AgentmFile(io.BytesIO):
    """An open file: bytes in memory, which are stored when it is closed."""

    def __init__(self, fs: AgentmFileSystem, path: str, mode: str, *, autocommit: bool) -> None:
        self.fs, self.path, self.autocommit = fs, path, autocommit
        self.mode = mode  # type: ignore[misc] # others set it, too
        self._data = b""
        self._before: str | None = None
        try:
            self._before = fs.files.read(path)
        except NotFoundError:
            if mode[0] == "r":
                raise
        super().__init__(bytes_of(path, self._before or "") if mode[0] == "r" else b"")
        self.size = len(self.getvalue())

    def readable(self) -> bool:
        return "r" in self.mode or "+" in self.mode

    def writable(self) -> bool:
        return self.mode != "rb"

    def write(self, data: Any) -> int:
        if not self.writable():
            raise io.UnsupportedOperation("the file is open for reading")
        return super().write(data)

    def close(self) -> None:
        if not self.closed:
            self._data = self.getvalue()
            super().close()
            if self.writable() and self.autocommit:
                self.commit()

    def commit(self) -> None:
        """Store it: when it is closed, or at the end of the transaction that it is part of."""
        data = self._data
        if self.mode[0] == "a":
            self.fs.files.update(self.path, lambda now: text_of(self.path, bytes_of(self.path, now or "") + data))
        else:
            self.fs.keep(self.path, data, ABSENT if self._before is None else content_hash(self._before))

    def discard(self) -> None:
        """Let it go without storing it."""


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.path,
        "size": entry.size,
        "type": FOLDER if entry.is_dir else FILE,
        "mtime": entry.mtime,
    }


def _told(tree: Tree, path: str, error: LocatorConflictError) -> OSError:
    """Which of Python's errors this is: programs ask for those."""
    parts = path.split("/")
    if any(tree.kind("/".join(parts[:count])) == FILE for count in range(1, len(parts))):
        return NotADirectoryError(error.message)
    return FileExistsError(error.message) if tree.kind(path) == FILE else IsADirectoryError(error.message)
