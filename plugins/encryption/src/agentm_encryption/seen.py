"""The newest revision of each note that this device has seen: an older one is one that somebody brought back.

A text file per group of keys, to which lines are added: `REVISION KEY`. Nothing is synced to the disk: a power cut
may make this device forget the last revisions, never know wrong ones. Whoever only reads adds nothing. Lines are
added and files rewritten under one lock, so what is known only ever rises, unless the operator accepts less.
"""

from __future__ import annotations

import os
from binascii import crc32

from agentm_kernel.plugin import StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import StoreMutex

_GROUPS = 64
_WASTEFUL = 100_000
"""Bytes from which on a file is looked at for lines that later ones have overtaken."""


class Seen:
    """What this device has seen of one store; `folder` appears with the first line."""

    def __init__(self, folder: str, *, read_only: bool) -> None:
        self._folder = os.path.join(folder, "seen")
        self._read_only = read_only
        self._known: dict[int, tuple[tuple[int, ...], int, dict[str, int]]] = {}
        """By group: which file that was and when, how much of it was read, and what it says."""

    def revision(self, key: str) -> int:
        """The newest revision that was seen; 0 for a note that never was."""
        return self._group(_group_of(key)).get(key, 0)

    def record(self, key: str, revision: int) -> bool:
        """Remember that there was this revision; whether there was none that is newer."""
        group = _group_of(key)
        known = self._group(group)
        newest = known.get(key, 0)
        if revision > newest and not self._read_only:
            known[key] = revision
            self._append(group, f"{revision} {key}\n")
        return revision >= newest

    def coming_and_going(self, key: str) -> StoreMutex:
        """Held while a note is created or deleted: on this device the one never happens within the other.

        So whoever creates a note knows every revision that was ever deleted there, and goes above it.
        """
        return _locked(os.path.join(self._folder, f"{_group_of(key):02x}.lock"))

    def accept(self, key: str, revision: int) -> None:
        """Take an older revision for the newest: the operator says that it was brought back on purpose."""
        group = _group_of(key)
        with _locked(self._folder):
            self._rewrite(group, {**self._written(group), key: revision})

    def forget(self) -> None:
        for group in range(_GROUPS):
            try:
                os.unlink(self._path(group))
            except FileNotFoundError:
                pass
        self._known.clear()

    def _group(self, group: int) -> dict[str, int]:
        """What the file of a group says. Asked with every note that is read, so a file without news is not opened."""
        mark, read, known = self._known.get(group, ((), 0, {}))
        path = self._path(group)
        try:
            if mark and mark == _mark(os.stat(path)):
                return known
            with open(path, "rb") as file:
                now = _mark(os.fstat(file.fileno()))
                if mark[:1] != now[:1] or now[1] < read:
                    read, known = 0, {}  # somebody has rewritten it
                file.seek(read)
                news = file.read()
        except FileNotFoundError:
            return known
        except OSError as error:
            raise _failed("read", path, error) from error
        whole = news[: news.rfind(b"\n") + 1]
        _add(known, whole)
        self._known[group] = now, read + len(whole), known
        return known

    def _append(self, group: int, line: str) -> None:
        path = self._path(group)
        with _locked(self._folder):
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(descriptor, line.encode())
                    size = os.fstat(descriptor).st_size
                finally:
                    os.close(descriptor)
            except OSError as error:
                raise _failed("write", path, error) from error
            if size > _WASTEFUL and size > 4 * sum(len(key) + 16 for key in tuple(self._group(group))):
                self._rewrite(group, self._written(group))

    def _written(self, group: int) -> dict[str, int]:
        """What the file says, read as a whole: nobody else has this dictionary."""
        found: dict[str, int] = {}
        try:
            with open(self._path(group), "rb") as file:
                _add(found, file.read())
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _failed("read", self._path(group), error) from error
        return found

    def _rewrite(self, group: int, known: dict[str, int]) -> None:
        """To be called with the lock."""
        from agentm_kernel.plugin import atomic_write

        atomic_write(self._path(group), "".join(f"{revision} {key}\n" for key, revision in sorted(known.items())))
        self._known.pop(group, None)

    def _path(self, group: int) -> str:
        return f"{self._folder}{os.sep}{group:02x}"


def _locked(folder: str) -> StoreMutex:
    from agentm_kernel.plugin import make_private_folder, store_mutex

    if not os.access(folder, os.F_OK):
        make_private_folder(folder)
    return store_mutex(folder)


def _failed(what: str, path: str, error: OSError) -> StorageIOError:
    return StorageIOError(
        f"cannot {what} {path}, where this device remembers which versions it has seen: {error.strerror}",
        errno=error.errno,
    )


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _group_of(key: str) -> int:
    return crc32(key.encode()) % _GROUPS


def _add(known: dict[str, int], data: bytes) -> None:
    for key, revision in _lines(data):
        if revision > known.get(key, 0):
            known[key] = revision


def _lines(data: bytes) -> Iterator[tuple[str, int]]:
    for line in data.decode("utf-8", "replace").split("\n"):
        revision, _, key = line.partition(" ")
        if key and revision.isascii() and revision.isdigit():
            yield key, int(revision)
