"""What the last look at a store found, so that the next one reads only what has changed.

It is kept by folder and in columns: where the names and versions of a folder's notes are those of the last time, as
two comparisons tell, everything else about the folder stands as it is. A version is believed only if it was old when
it was looked at: within the tick of a file system's clock, two versions can look alike. The file can be lost at any
time; then everything is looked at again.
"""

from __future__ import annotations

import os
import time
from itertools import chain

import libipld

from agentm_checkpoint.caches import load_cache, save_cache
from agentm_checkpoint.cids import encode_node
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.tree import Entry, Leaf
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import Info

    Notes = dict[str, tuple[str | None, Leaf]]
    """Of one folder, by name: the version, and what stands for the note in the tree."""

FORMAT = "agentm-seen/2"
SETTLED_AFTER = 2.0
"""Seconds; the coarsest clock of a file system in use."""


class SeenFolder:
    """One folder as it was found."""

    __slots__ = ("cids", "entry", "names", "sizes", "strangers", "version", "versions")

    def __init__(self) -> None:
        self.version: str | None = None
        """For which version of the folder the strangers are known; `None` if for none."""
        self.strangers: list[str] = []
        """What lies in it and is no note."""
        self.names: list[str] = []
        self.versions: list[str | None] = []
        """Of each note; `None` if it has to be read again in any case."""
        self.sizes: list[int] = []
        self.cids: list[Cid] = []
        self.entry: Entry | None = None
        """What the tree says of the folder, with everything below it; `None` if there are no notes."""

    def keep(self, notes: Notes) -> None:
        self.names = sorted(notes)
        self.versions = [notes[name][0] for name in self.names]
        self.sizes = [notes[name][1][0] for name in self.names]
        self.cids = [notes[name][1][1] for name in self.names]

    def has_notes(self, versions: dict[str, str]) -> bool:
        """Whether exactly these notes were found, in these versions."""
        return self.versions == [*versions.values()] and self.names == [*versions]

    def notes(self) -> Notes:
        return dict(zip(self.names, zip(self.versions, self.leaves(), strict=True), strict=True))

    def leaves(self) -> Iterable[Leaf]:
        return zip(self.sizes, self.cids, strict=True)

    def entries(self) -> dict[str, Entry]:
        """What the tree says of its notes."""
        return {name: [*leaf] for name, leaf in zip(self.names, self.leaves(), strict=True)}

    def strangers_of(self, info: Info) -> list[str] | None:
        """What lay in the folder and was no note, if the folder is still the same."""
        return self.strangers if info.version and self.version == info.version else None

    def keep_strangers(self, info: Info, strangers: list[str], looked_at: float) -> None:
        self.strangers = strangers
        self.version = settled_version(info, looked_at)

    def says_more_than(self, before: SeenFolder) -> bool:
        """Whether it spares the next look anything. That a note has to be read again is known without it."""
        if self.names is before.names and self.versions is before.versions:
            is_known = True
        else:
            versions = zip(self.versions, before.versions, strict=False)
            is_known = self.names == before.names and all(new is None or new == old for new, old in versions)
        return not is_known or (self.version, self.strangers) != (before.version, before.strangers)

    def fields(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]


Seen = dict[str, SeenFolder]
"""Folders by key, parents before children."""


def save_seen(path: str, folders: Seen) -> None:
    fields = {key: folder.fields() for key, folder in folders.items()}
    save_cache(path, encode_node({"format": FORMAT, "folders": fields}))


def load_seen(path: str) -> Seen:
    """What the last survey found; nothing, if the file is lost or cannot be used."""
    content = load_cache(path)
    fields = None if content is None else libipld.decode_dag_cbor(content)
    if fields is None or fields["format"] != FORMAT:
        return {}
    return {key: _folder(values) for key, values in fields["folders"].items()}


def _folder(values: list[Any]) -> SeenFolder:
    folder = SeenFolder()
    for name, value in zip(SeenFolder.__slots__, values, strict=True):
        setattr(folder, name, value)
    return folder


def settled_version(info: Info, looked_at: float) -> str | None:
    """The version, if any later change must show in it."""
    return info.version if info.version and looked_at - info.mtime > SETTLED_AFTER else None


def find_strangers(backend: StorageBackend, folders: dict[str, Info], before: Seen, after: Seen) -> list[str]:
    """What lies in the store and is no note. Only folders that have changed are looked into."""
    looked_at = time.time()
    changed: dict[str, list[str]] = {}
    for key, info in folders.items():
        known = before[key].strangers_of(info) if key in before else None
        if known is None:
            changed[key] = []
        else:
            after[key].keep_strangers(info, known, looked_at)
    for top in _topmost(changed):
        for path in backend.foreign_entries(Locator(top)):
            folder = os.path.dirname(path).replace(os.sep, "/")
            if folder in changed or folder not in folders:
                changed[folder if folder in changed else top].append(path)
    for key, strangers in changed.items():
        after[key].keep_strangers(folders[key], strangers, looked_at)
    return sorted(chain.from_iterable(folder.strangers for folder in after.values()))


def _topmost(keys: Iterable[str]) -> list[str]:
    """The folders that are in no other one of them: looking into one is looking into all below it."""
    chosen: set[str] = set()
    for key in sorted(keys):
        above = key
        while above:
            above = above.rpartition("/")[0]
            if above in chosen:
                break
        else:
            chosen.add(key)
    return sorted(chosen)
