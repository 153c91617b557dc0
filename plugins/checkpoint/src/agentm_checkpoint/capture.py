"""Taking a checkpoint: the notes of a store, read through the seam, as a tree in the image."""

from __future__ import annotations

import os
import time

from agentm_checkpoint.image import Image
from agentm_checkpoint.places import folder_of, image_path, store_id
from agentm_checkpoint.seen import SeenFolder, find_strangers, load_seen, save_seen, settled_version
from agentm_checkpoint.snapshot import Snapshot
from agentm_checkpoint.tree import join_folders, note_blocks
from agentm_kernel.plugin import (
    STAMP_KEY,
    ConcurrentModificationError,
    InvalidContentError,
    Locator,
    NotFoundError,
    walk_folders,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_checkpoint.seen import Note, Seen
    from agentm_checkpoint.tree import Blocks, Leaf, Root
    from agentm_kernel.plugin import Folder, Info, StorageBackend

    Progress = Callable[[str, Iterable[Info]], Iterable[Info]]


_ATTEMPTS = 3
_STAMP_FOLDER, _, _STAMP_NAME = STAMP_KEY.rpartition("/")


def open_image(backend: StorageBackend, state_dir: str) -> Image:
    """The image of the selected store on this device."""
    store = store_id(backend)
    return Image(image_path(folder_of(state_dir, store)), store)


class Contents:
    """What a store holds: its notes by folder, the tree over them, and what is no note."""

    __slots__ = ("blocks", "folders", "root", "skipped")

    def __init__(self, folders: Seen, root: Root, blocks: Blocks, skipped: list[str]) -> None:
        self.folders = folders
        self.root = root
        self.blocks = blocks
        """Of notes that were read on the way, and of directories that are not as they were."""
        self.skipped = skipped

    @property
    def leaves(self) -> dict[str, Leaf]:
        """Every note by its key."""
        leaves = {}
        for key, folder in self.folders.items():
            above = f"{key}/" if key else ""
            leaves.update({above + name: leaf for name, leaf in folder.leaves().items()})
        return leaves


class Taken:
    """The result of taking a checkpoint."""

    __slots__ = ("contents", "is_new", "snapshot")

    def __init__(self, snapshot: Snapshot, is_new: bool, contents: Contents) -> None:
        self.snapshot = snapshot
        self.is_new = is_new
        """`False` if the store is as it was at the last one, which then stands for this one too."""
        self.contents = contents

    @property
    def leaves(self) -> dict[str, Leaf]:
        """The notes that are in it."""
        return self.contents.leaves

    @property
    def skipped(self) -> list[str]:
        """What lies in the store and is no note."""
        return self.contents.skipped


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
    is_there = image.is_whole if full else image.__contains__
    blocks = {cid: block for cid, block in contents.blocks.items() if not is_there(cid)}
    store = store_id(backend)
    last = image.newest(store)
    if last is not None and last.root.cid == contents.root.cid and not blocks and not image.damage:
        return Taken(last, False, contents)
    snapshot = Snapshot(
        contents.root,
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
    cache = os.path.join(os.path.dirname(image.path), "seen.cbor")
    return _Survey(backend, image, {} if full else load_seen(cache)).run(cache, progress)


class _Survey:
    """One look at a store, with what the last one found beside it."""

    def __init__(self, backend: StorageBackend, image: Image, before: Seen) -> None:
        self._backend = backend
        self._image = image
        self._before = before
        self._after: Seen = {}
        self._found: dict[str, dict[str, Note | None]] = {}
        """The notes of folders in which something is not as it was, in the order of the walk; `None` until read."""
        self._changed: set[str] = set()
        """These folders, and all above them."""
        self._blocks: Blocks = {}
        self._skipped: list[str] = []

    def run(self, cache: str, progress: Progress | None) -> Contents:
        folders: dict[str, Info] = {}
        unread: list[Info] = []
        for folder in walk_folders(self._backend, Locator()):
            folders[folder.info.locator.key] = folder.info
            unread += self._take_over(folder)
        for key in self._before.keys() - self._after.keys():
            self._mark(key.rpartition("/")[0])
        for info in progress("Reading", unread) if progress is not None and unread else unread:
            self._read(info)
        root = self._join()
        self._skipped += find_strangers(self._backend, folders, self._before, self._after)
        if self._is_news():
            save_seen(cache, self._after)
        return Contents(self._after, root, self._blocks, self._skipped)

    def _take_over(self, folder: Folder) -> list[Info]:
        """Keep what is known of a folder; the notes of which nothing is known."""
        key = folder.info.locator.key
        if key == _STAMP_FOLDER:
            folder.versions.pop(_STAMP_NAME, None)
        known = self._before.get(key)
        seen = self._after[key] = SeenFolder()
        if known is not None and known.has_notes(folder.versions) and self._holds(known):
            seen.take_over(known)
            return []
        self._mark(key)
        notes = self._found[key] = dict.fromkeys(folder.versions)
        before = {} if known is None else known.notes()
        for name, version in folder.versions.items():
            note = before.get(name)
            if note is not None and version and note[0] == version and note[1][1] in self._image:
                notes[name] = note
        return [folder.note(name) for name, note in notes.items() if note is None]

    def _holds(self, known: SeenFolder) -> bool:
        """Whether the image has all of a folder: it does if it has the folder, or if there is nothing to have."""
        return known.entry is None or known.entry[2] in self._image

    def _mark(self, key: str) -> None:
        while key not in self._changed:
            self._changed.add(key)
            key = key.rpartition("/")[0]

    def _read(self, info: Info) -> None:
        looked_at = time.time()
        try:
            data = self._backend.read(info.locator).encode()
        except InvalidContentError:
            self._skipped.append(info.locator.key)
            return
        except NotFoundError:
            return  # it vanished since the walk
        leaf, blocks = note_blocks(data)
        self._blocks.update(blocks)
        version = settled_version(info, looked_at) if info.size == leaf[0] else None
        self._found[info.locator.parent.key][info.locator.name] = version, leaf

    def _join(self) -> Root:
        """The tree over everything. What has not changed is not put together again."""
        for key, notes in self._found.items():
            self._after[key].keep({name: note for name, note in notes.items() if note is not None})
        changed = {
            key: {name: [*leaf] for name, leaf in folder.leaves().items()}
            for key, folder in self._after.items()
            if key in self._changed
        }
        known = {
            key: folder.entry
            for key, folder in self._before.items()
            if folder.entry is not None and key in self._after and key not in self._changed
        }
        entries, root, nodes = join_folders(changed, known)
        self._blocks.update(nodes)
        for key, folder in self._after.items():
            folder.entry = entries.get(key)
        return root

    def _is_news(self) -> bool:
        """Whether the next time can read or look less for what is known now."""
        return self._before.keys() != self._after.keys() or any(
            folder.says_more_than(self._before[key]) for key, folder in self._after.items()
        )
