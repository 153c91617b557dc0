"""The newest revision of each note that this device has seen: an older one is one that somebody brought back.

A text file per group of keys, to which lines are added: `REVISION KEY`. Nothing is synced to the disk: a power cut
may make this device forget the last revisions, never know wrong ones. Whoever only reads adds nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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

    def record(self, key: str, revision: int) -> None:
        """Remember that there was this revision."""
        group = _group_of(key)
        known = self._group(group)
        if self._read_only or known.get(key, 0) >= revision:
            return
        known[key] = revision
        self._append(group, f"{revision} {key}\n")

    def accept(self, key: str, revision: int) -> None:
        """Take an older revision for the newest: the operator says that it was brought back on purpose."""
        group = _group_of(key)
        known = self._group(group)
        known[key] = revision
        self._rewrite(group, known)

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
        try:
            if mark and mark == _mark(os.stat(self._path(group))):
                return known
            with open(self._path(group), "rb") as file:
                now = _mark(os.fstat(file.fileno()))
                if mark[:1] != now[:1]:
                    read, known = 0, {}  # somebody has rewritten it
                file.seek(read)
                news = file.read()
        except FileNotFoundError:
            return known
        whole = news[: news.rfind(b"\n") + 1]
        for key, revision in _lines(whole):
            if revision > known.get(key, 0):
                known[key] = revision
        self._known[group] = now, read + len(whole), known
        return known

    def _append(self, group: int, line: str) -> None:
        path = self._path(group)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            from agentm_kernel.plugin import make_private_folder

            make_private_folder(self._folder)
            descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode())
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        known = self._group(group)
        if size > _WASTEFUL and size > 4 * sum(len(key) + 16 for key in known):
            self._rewrite(group, known)

    def _rewrite(self, group: int, known: dict[str, int]) -> None:
        from agentm_kernel.plugin import atomic_write, make_private_folder

        make_private_folder(self._folder)
        atomic_write(self._path(group), "".join(f"{revision} {key}\n" for key, revision in sorted(known.items())))
        self._known.pop(group, None)

    def _path(self, group: int) -> str:
        return os.path.join(self._folder, f"{group:02x}")


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _group_of(key: str) -> int:
    from zlib import crc32

    return crc32(key.encode()) % _GROUPS


def _lines(data: bytes) -> Iterator[tuple[str, int]]:
    for line in data.decode("utf-8", "replace").split("\n"):
        revision, _, key = line.partition(" ")
        if key and revision.isascii() and revision.isdigit():
            yield key, int(revision)
