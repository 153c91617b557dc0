"""What the last look at a store found, so that the next one reads only what has changed.

It is kept by folder and in columns: where the names and versions of a folder's notes are those of the last time, as
two comparisons of text tell, everything else about the folder stands as it is. A version is believed only if it was
old when it was looked at: within the tick of a file system's clock, two versions can look alike. The file can be lost
at any time; then everything is looked at again.
"""

from __future__ import annotations

import os
import time
from itertools import chain
from struct import Struct

import libipld

from agentm_checkpoint.caches import load_cache, save_cache
from agentm_checkpoint.cids import encode_node, split_cids
from agentm_kernel.plugin import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agentm_checkpoint.tree import Entry, Leaf
    from agentm_kernel.plugin import Info, StorageBackend

    Note = tuple[str | None, Leaf]
    """The version of a note, and what stands for it in the tree."""

    Notes = dict[str, Note]
    """Of one folder, by name."""

FORMAT = "agentm-survey/5"
SETTLED_AFTER = 2.0
"""Seconds; the coarsest clock of a file system in use."""

_UNKNOWN = "\0"

# Packed columns begin with a zero byte: what begins like an identifier, libipld may take for a link.
_SIZES = "<x%dQ"
_CIDS = b"\0"


class SurveyedFolder:
    """One folder as it was found. What is known of its notes is packed, for most folders are only compared."""

    __slots__ = ("cids", "entry", "names", "sizes", "strangers", "version", "versions")

    def __init__(self) -> None:
        self.version: str | None = None
        """For which version of the folder the strangers are known; `None` if for none."""
        self.strangers: list[str] = []
        """What lies in it and is no note."""
        self.names = ""
        """Of the notes, in the order of the walk, one in a line."""
        self.versions = ""
        """Of each note, likewise; `_UNKNOWN` for one that has to be read again in any case."""
        self.sizes = Struct(_SIZES % 0).pack()
        self.cids = _CIDS
        self.entry: Entry | None = None
        """What the tree says of the folder, with everything below it; `None` if there are no notes."""

    def keep(self, notes: Notes) -> None:
        self.names = "\n".join(notes)
        self.versions = "\n".join(_line(version) for version, _ in notes.values())
        self.sizes = Struct(_SIZES % len(notes)).pack(*(size for _, (size, _) in notes.values()))
        self.cids = _CIDS + b"".join(cid for _, (_, cid) in notes.values())

    def take_over(self, known: SurveyedFolder) -> None:
        """Keep the notes of a folder in which they are as they were."""
        self.names, self.versions, self.sizes, self.cids = known.names, known.versions, known.sizes, known.cids

    def has_notes(self, versions: dict[str, str]) -> bool:
        """Whether exactly these notes were found, in these versions and in this order, which a store keeps to while
        nothing changes.
        """
        return (
            self.versions == "\n".join(versions.values())
            and self.names == "\n".join(versions)
            and _UNKNOWN not in self.versions
        )

    def notes(self) -> Notes:
        versions = (None if line == _UNKNOWN else line for line in self.versions.split("\n"))
        return {name: (version, leaf) for (name, leaf), version in zip(self.leaves().items(), versions, strict=False)}

    def leaves(self) -> dict[str, Leaf]:
        """What stands for its notes in the tree, by name."""
        names = self.names.split("\n") if self.names else []
        sizes = Struct(_SIZES % len(names)).unpack(self.sizes)
        cids = split_cids(self.cids.removeprefix(_CIDS))
        return dict(zip(names, zip(sizes, cids, strict=True), strict=True))

    def strangers_of(self, info: Info) -> list[str] | None:
        """What lay in the folder and was no note, if the folder is still the same."""
        return self.strangers if info.version and self.version == info.version else None

    def keep_strangers(self, info: Info, strangers: list[str], looked_at: float) -> None:
        self.strangers = strangers
        self.version = settled_version(info, looked_at)

    def says_more_than(self, before: SurveyedFolder) -> bool:
        """Whether it spares the next look anything. That a note has to be read again is known without it."""
        is_known = self.names == before.names and (
            self.versions is before.versions
            or all(map(_says_nothing_new, self.versions.split("\n"), before.versions.split("\n")))
        )
        return not is_known or (self.version, self.strangers) != (before.version, before.strangers)

    def fields(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]


Surveyed = dict[str, SurveyedFolder]
"""Folders by key, parents before children."""


def save_survey(path: str, folders: Surveyed) -> None:
    fields = {key: folder.fields() for key, folder in folders.items()}
    save_cache(path, encode_node({"format": FORMAT, "folders": fields}))


def load_survey(path: str) -> Surveyed:
    """What the last survey found; nothing, if the file is lost or cannot be used."""
    content = load_cache(path)
    fields = None if content is None else libipld.decode_dag_cbor(content)
    if fields is None or fields["format"] != FORMAT:
        return {}
    return {key: _folder(values) for key, values in fields["folders"].items()}


def _folder(values: list[Any]) -> SurveyedFolder:
    folder = SurveyedFolder()
    for name, value in zip(SurveyedFolder.__slots__, values, strict=True):
        setattr(folder, name, value)
    return folder


def _says_nothing_new(version: str, before: str) -> bool:
    return version in (_UNKNOWN, before)


def _line(version: str | None) -> str:
    return _UNKNOWN if version is None or "\n" in version else version


def settled_version(info: Info, looked_at: float) -> str | None:
    """The version, if any later change must show in it."""
    return info.version if info.version and looked_at - info.mtime > SETTLED_AFTER else None


def find_strangers(backend: StorageBackend, folders: dict[str, Info], before: Surveyed, after: Surveyed) -> list[str]:
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
