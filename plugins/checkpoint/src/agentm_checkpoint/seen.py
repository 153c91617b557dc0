"""What the last look at a store found, so that the next one reads only what has changed.

A note, or a folder's list of strangers, is taken over if it has the version it had then. A version is believed only
if it was old when it was looked at: within the tick of a file system's clock, two versions can look alike. The file
can be lost at any time; then everything is looked at again.
"""

from __future__ import annotations

import itertools
import os
import time

import libipld

from agentm_checkpoint.cids import encode_node
from agentm_checkpoint.places import make_folder
from agentm_kernel import atomic_write
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import Info

FORMAT = "agentm-seen/1"
SETTLED_AFTER = 2.0
"""Seconds; the coarsest clock of a file system in use."""


class Seen:
    """Notes and folders by key, each with the version that was looked at."""

    def __init__(self, fields: dict[str, Any] | None = None) -> None:
        fields = fields or {}
        self.notes: dict[str, list[Any]] = fields.get("notes", {})
        self.folders: dict[str, list[Any]] = fields.get("folders", {})

    def note(self, key: str, version: str) -> list[Any] | None:
        """Version, size and identifier of the note, if it is still the same."""
        known = self.notes.get(key)
        return known if known is not None and version and known[0] == version else None

    def add_note(self, info: Info, leaf: Leaf, looked_at: float) -> None:
        if _is_settled(info, looked_at) and info.size == leaf[0]:
            self.notes[info.locator.key] = [info.version, *leaf]

    def strangers(self, info: Info) -> list[str] | None:
        """What lay in the folder and was no note, if the folder is still the same."""
        known = self.folders.get(info.locator.key)
        return known[1] if known is not None and info.version and known[0] == info.version else None

    def add_folder(self, info: Info, strangers: list[str], looked_at: float) -> None:
        if _is_settled(info, looked_at):
            self.folders[info.locator.key] = [info.version, strangers]

    def save(self, path: str, before: Seen) -> None:
        """Keep it for the next time, unless that knows it already."""
        if self.notes != before.notes or self.folders != before.folders:
            make_folder(os.path.dirname(path))
            atomic_write(path, encode_node({"format": FORMAT, "notes": self.notes, "folders": self.folders}))


def load_seen(path: str) -> Seen:
    """What the last survey found; nothing, if the file is lost or cannot be used."""
    try:
        with open(path, "rb") as file:
            fields = libipld.decode_dag_cbor(file.read())
    except (OSError, ValueError, RecursionError):
        return Seen()
    return Seen(fields) if isinstance(fields, dict) and fields.get("format") == FORMAT else Seen()


def find_strangers(backend: StorageBackend, folders: Iterable[Info], before: Seen, after: Seen) -> list[str]:
    """What lies in the store and is no note. Only folders that have changed are looked into."""
    looked_at = time.time()
    changed: dict[str, tuple[Info, list[str]]] = {}
    unchanged: dict[str, list[str]] = {}
    for info in folders:
        known = before.strangers(info)
        if known is None:
            changed[info.locator.key] = info, []
        else:
            unchanged[info.locator.key] = known
            after.add_folder(info, known, looked_at)
    for top in _topmost(changed):
        for path in backend.foreign_entries(Locator(top)):
            folder = path.rpartition(os.sep)[0].replace(os.sep, "/")
            if folder not in unchanged:
                changed[folder if folder in changed else top][1].append(path)
    for info, strangers in changed.values():
        after.add_folder(info, strangers, looked_at)
    return sorted(
        itertools.chain(*unchanged.values(), *(strangers for _, strangers in changed.values())),
    )


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


def _is_settled(info: Info, looked_at: float) -> bool:
    return bool(info.version) and looked_at - info.mtime > SETTLED_AFTER
