"""Taking a checkpoint: the notes of a store, read through the seam, as a tree in the image."""

from __future__ import annotations

import os
import time

from agentm_checkpoint.image import Image
from agentm_checkpoint.places import folder_of, image_path, store_id
from agentm_checkpoint.seen import Seen, find_strangers, load_seen
from agentm_checkpoint.snapshot import Snapshot
from agentm_checkpoint.tree import build_tree, note_blocks
from agentm_kernel.errors import ConcurrentModificationError, InvalidContentError, NotFoundError
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_checkpoint.tree import Blocks, Leaf
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import Info

    Progress = Callable[[str, Iterable[Info]], Iterable[Info]]


_ATTEMPTS = 3


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

    __slots__ = ("is_new", "leaves", "skipped", "snapshot")

    def __init__(self, snapshot: Snapshot, is_new: bool, contents: Contents) -> None:
        self.snapshot = snapshot
        self.is_new = is_new
        """`False` if the store is as it was at the last one, which then stands for this one too."""
        self.leaves = contents.leaves
        """The notes that are in it."""
        self.skipped = contents.skipped
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
    for _ in range(_ATTEMPTS - 1):
        try:
            return _take(backend, image, author, reason, progress, full)
        except ConcurrentModificationError:
            continue  # the image was pruned under our hands, and is read anew by now
    return _take(backend, image, author, reason, progress, full)


def _take(
    backend: StorageBackend, image: Image, author: str, reason: str, progress: Progress | None, full: bool
) -> Taken:
    contents = survey(backend, image, progress=progress, full=full)
    root, nodes = build_tree(contents.leaves)
    is_there = image.is_whole if full else image.__contains__
    blocks = {cid: block for cid, block in (contents.blocks | nodes).items() if not is_there(cid)}
    store = store_id(backend)
    last = next((snapshot for snapshot in reversed(image.snapshots) if snapshot.store == store), None)
    if last is not None and last.root.cid == root.cid and not blocks and not image.damage:
        return Taken(last, False, contents)
    snapshot = Snapshot(
        root,
        parent=last.id if last else None,
        store=store,
        time=int(time.time() * 1000),
        author=author,
        reason=reason,
    )
    image.append(blocks, snapshot)
    return Taken(snapshot, True, contents)


def survey(
    backend: StorageBackend, image: Image, *, progress: Progress | None = None, full: bool = False
) -> Contents:
    """Read what has changed since the last survey; for the rest, take over what was found then."""
    contents = Contents()
    cache = os.path.join(os.path.dirname(image.path), "seen.cbor")
    before = Seen() if full else load_seen(cache)
    after = Seen()
    folders = [backend.info(Locator())]
    unread = []
    for info in backend.walk(Locator()):
        key = info.locator.key
        if info.is_dir:
            folders.append(info)
        elif (known := before.note(key, info.version)) is not None and known[2] in image:
            contents.leaves[key] = known[1], known[2]
            after.notes[key] = known
        elif key != STAMP_KEY:
            unread.append(info)
    for info in progress("Reading", unread) if progress is not None and unread else unread:
        _read(backend, info, contents, after)
    contents.skipped += find_strangers(backend, folders, before, after)
    after.save(cache, before)
    return contents


def _read(backend: StorageBackend, info: Info, contents: Contents, seen: Seen) -> None:
    looked_at = time.time()
    try:
        data = backend.read(info.locator).encode()
    except InvalidContentError:
        contents.skipped.append(info.locator.key)
        return
    except NotFoundError:
        return  # it vanished since the walk
    leaf, blocks = note_blocks(data)
    contents.leaves[info.locator.key] = leaf
    contents.blocks.update(blocks)
    seen.add_note(info, leaf, looked_at)
