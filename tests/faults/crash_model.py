"""What a disk may hold after the power went: the model behind `crash_states`.

It promises as little as POSIX does, less than any file system in use:

- the data of a file is safe only after `fsync` of the file; before, the file may be empty, cut short, or full of
  zeros, even where its length is right;
- a name (created, linked, renamed, removed) is safe only after `fsync` of its directory; before, any subset of the
  changes may have reached the disk, later ones without earlier ones. `fsync` of a file says nothing about its name;
- one rename or exchange within a directory happens wholly or not at all; a move into another directory may arrive
  without leaving, or leave without arriving.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Tree = tuple[tuple[str, bytes | None], ...]
"""Sorted pairs of a path and its content; `None` is the content of a directory."""

ROOT = 0
"""The inode of the directory that everything lies in. It is there from the beginning."""


@dataclass(frozen=True)
class Names:
    """One change to the names of one directory, indivisible: the entries it sets (`None` removes)."""

    directory: int
    entries: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class NewFile:
    inode: int


@dataclass(frozen=True)
class NewDirectory:
    inode: int


@dataclass(frozen=True)
class Content:
    """A file now has this content, as far as programs can see."""

    inode: int
    data: bytes


@dataclass(frozen=True)
class Sync:
    """Whatever was done to this inode is on the disk."""

    inode: int


Event = Names | NewFile | NewDirectory | Content | Sync


@dataclass
class _Disk:
    directories: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    pending_names: list[Names] = field(default_factory=list)
    seen: dict[int, bytes] = field(default_factory=dict)
    """The content of each file that programs see."""
    safe: dict[int, bytes] = field(default_factory=dict)
    """The content of each file as of its last sync."""

    def apply(self, event: Event) -> None:
        match event:
            case NewFile(inode):
                self.seen[inode] = self.safe[inode] = b""
            case NewDirectory(inode):
                self.directories[inode] = {}
            case Content(inode, data):
                self.seen[inode] = data
            case Names():
                self.pending_names.append(event)
            case Sync(inode) if inode in self.seen:
                self.safe[inode] = self.seen[inode]
            case Sync(inode):
                self._settle(inode)

    def _settle(self, directory: int) -> None:
        for change in self.pending_names:
            if change.directory == directory:
                _set_names(self.directories, change)
        self.pending_names = [change for change in self.pending_names if change.directory != directory]

    def possible_contents(self, inode: int) -> tuple[bytes, ...]:
        seen, safe = self.seen[inode], self.safe[inode]
        if seen == safe:
            return (safe,)
        return tuple({safe, b"", seen[: len(seen) // 2], bytes(len(seen)), seen})


def crash_states(events: Sequence[Event]) -> Iterator[Tree]:
    """Every tree that the next start may find if the power goes right after `events`."""
    disk = _replayed(events)
    for persisted in _subsets(disk.pending_names):
        directories = {inode: dict(names) for inode, names in disk.directories.items()}
        for change in persisted:
            _set_names(directories, change)
        named = dict(_paths(directories, ROOT, ""))
        files = [(path, inode) for path, inode in named.items() if inode in disk.seen]
        folders = [(path, None) for path, inode in named.items() if inode in directories]
        for contents in product(*(disk.possible_contents(inode) for _, inode in files)):
            tree = [(path, content) for (path, _), content in zip(files, contents, strict=True)]
            yield tuple(sorted([*folders, *tree]))


def tree_without_crash(events: Sequence[Event]) -> Tree:
    """The tree that programs see after `events`."""
    disk = _replayed(events)
    for change in disk.pending_names:
        _set_names(disk.directories, change)
    return tuple(sorted((path, disk.seen.get(inode)) for path, inode in _paths(disk.directories, ROOT, "")))


def _replayed(events: Sequence[Event]) -> _Disk:
    disk = _Disk()
    for event in events:
        disk.apply(event)
    return disk


def _set_names(directories: dict[int, dict[str, int]], change: Names) -> None:
    names = directories[change.directory]
    for name, inode in change.entries:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


def _paths(directories: dict[int, dict[str, int]], inode: int, above: str) -> Iterator[tuple[str, int]]:
    for name, entry in directories[inode].items():
        path = f"{above}/{name}" if above else name
        yield path, entry
        if entry in directories:
            yield from _paths(directories, entry, path)


def _subsets(changes: Sequence[Names]) -> Iterable[tuple[Names, ...]]:
    return chain.from_iterable(combinations(changes, size) for size in range(len(changes) + 1))
