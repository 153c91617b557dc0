"""Taking a checkpoint: the notes of a store, read through the seam, as a tree in the image.

A note that has the version it had when it was last read is not read again. A version is believed only if it was old
when the note was read: within the tick of a file system's clock, two versions of a note can look alike.
"""

from __future__ import annotations

import os
import time

from agentm_checkpoint.cids import decode_node, encode_node
from agentm_checkpoint.image import Image
from agentm_checkpoint.places import folder_of, image_path, make_folder, store_id
from agentm_checkpoint.snapshot import Snapshot
from agentm_checkpoint.tree import build_tree, note_blocks
from agentm_kernel import atomic_write
from agentm_kernel.errors import IntegrityError, InvalidContentError, NotFoundError
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from agentm_checkpoint.tree import Blocks, Leaf
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import Info

    Progress = Callable[[str, Iterable[Info]], Iterable[Info]]

SETTLED_AFTER = 2.0
"""Seconds; the coarsest clock of a file system in use."""


def open_image(backend: StorageBackend, state_dir: str) -> Image:
    """The image of the selected store on this device."""
    store = store_id(backend)
    return Image(image_path(folder_of(state_dir, store)), store)


class Contents:
    """What a store holds: its notes as leaves, the blocks that were read on the way, and what is no note."""

    __slots__ = ("blocks", "leaves", "skipped")

    def __init__(self) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.blocks: Blocks = {}
        self.skipped: list[str] = []


class Taken:
    """The result of taking a checkpoint."""

    __slots__ = ("is_new", "skipped", "snapshot")

    def __init__(self, snapshot: Snapshot, is_new: bool, skipped: list[str]) -> None:
        self.snapshot = snapshot
        self.is_new = is_new
        """`False` if the store is as it was at the last one, which then stands for this one too."""
        self.skipped = skipped
        """What lies in the store and is no note."""


def take(
    backend: StorageBackend,
    image: Image,
    *,
    author: str,
    reason: str,
    progress: Progress | None = None,
    full: bool = False,
) -> Taken:
    """A checkpoint of the store as it is now. `full`: read every note, and replace damaged blocks of the image."""
    contents = survey(backend, image, progress=progress, full=full)
    contents.skipped += backend.foreign_entries(Locator())
    root, nodes = build_tree(contents.leaves)
    store = store_id(backend)
    last = next((snapshot for snapshot in reversed(image.snapshots) if snapshot.store == store), None)
    blocks = contents.blocks | nodes
    if full:
        blocks = {cid: block for cid, block in blocks.items() if not image.is_whole(cid)}
    else:
        blocks = {cid: block for cid, block in blocks.items() if cid not in image}
    if last is not None and last.root.cid == root.cid and not blocks and not image.damage:
        return Taken(last, False, contents.skipped)
    snapshot = Snapshot(
        root,
        parent=last.id if last else None,
        store=store,
        time=int(time.time() * 1000),
        author=author,
        reason=reason,
    )
    image.append(blocks, snapshot)
    return Taken(snapshot, True, contents.skipped)


def survey(
    backend: StorageBackend, image: Image, *, progress: Progress | None = None, full: bool = False
) -> Contents:
    """Read what has changed since the last survey; for the rest, take over what was found then."""
    contents = Contents()
    cache = os.path.join(os.path.dirname(image.path), "seen.cbor")
    seen = {} if full else _load_seen(cache)
    infos = [info for info in backend.walk(Locator()) if not info.is_dir and info.locator.key != STAMP_KEY]
    now_seen: dict[str, list[Any]] = {}
    unread = []
    for info in infos:
        known = seen.get(info.locator.key)
        if known is not None and info.version and known[0] == info.version and known[2] in image:
            contents.leaves[info.locator.key] = known[1], known[2]
            now_seen[info.locator.key] = known
        else:
            unread.append(info)
    for info in progress("Reading", unread) if progress is not None and unread else unread:
        read_at = time.time()
        try:
            data = backend.read(info.locator).encode()
        except InvalidContentError:
            contents.skipped.append(info.locator.key)
            continue
        except NotFoundError:
            continue  # it vanished since the walk
        leaf, blocks = note_blocks(data)
        contents.leaves[info.locator.key] = leaf
        contents.blocks.update(blocks)
        if info.version and info.size == leaf[0] and read_at - info.mtime > SETTLED_AFTER:
            now_seen[info.locator.key] = [info.version, *leaf]
    if now_seen != seen:
        _save_seen(cache, now_seen)
    return contents


def _load_seen(path: str) -> dict[str, list[Any]]:
    """What the last survey found. A file that cannot be used costs time, nothing else: everything is read again."""
    try:
        with open(path, "rb") as file:
            seen = decode_node(file.read())
    except (OSError, IntegrityError):
        return {}
    return seen if isinstance(seen, dict) else {}


def _save_seen(path: str, seen: dict[str, list[Any]]) -> None:
    make_folder(os.path.dirname(path))
    atomic_write(path, encode_node(seen))
