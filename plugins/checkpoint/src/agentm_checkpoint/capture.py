"""Taking a checkpoint: the notes of a store, read through the seam, as a tree in the image."""

from __future__ import annotations

import os
import time

from agentm_checkpoint.directories import folder_of, image_path, store_folder, store_id
from agentm_checkpoint.image import Image
from agentm_checkpoint.settings import settings_of
from agentm_checkpoint.snapshot import Snapshot
from agentm_checkpoint.survey_cache import SurveyedFolder, find_strangers, load_survey, save_survey, settled_version
from agentm_checkpoint.tree import join_folders, note_blocks
from agentm_kernel.plugin import (
    STAMP_KEY,
    ConcurrentModificationError,
    ConfigError,
    InvalidContentError,
    Locator,
    NotFoundError,
    layout,
    walk_folders,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_checkpoint.local_state import LocalState
    from agentm_checkpoint.survey_cache import Note, Surveyed
    from agentm_checkpoint.tree import Blocks, Leaf, Root
    from agentm_kernel.plugin import Device, Folder, Info, StorageBackend

    Progress = Callable[[str, Iterable[Info]], Iterable[Info]]


_ATTEMPTS = 3
_STAMP_FOLDER, _, _STAMP_NAME = STAMP_KEY.rpartition("/")


def open_image(backend: StorageBackend, device: Device) -> Image:
    """The image of the selected store, where the configuration keeps images."""
    return open_image_of(store_id(backend), device)


def open_image_of(store: str, device: Device) -> Image:
    """The image of a store on this device, whether or not the store is still there."""
    return Image(image_path(image_folder(store, device)), store)


def image_folder(store: str, device: Device) -> str:
    """The folder of a store's image. One that the operator named has to be there: a disk may not be mounted."""
    base = settings_of(device).image_folder
    if base is None:
        return folder_of(device.state_dir, store)
    base = device.expand(base)
    if not os.path.isabs(base) or not os.path.isdir(base):
        raise ConfigError(
            f"plugins.checkpoint.image_folder is {ascii(base)}, and there is no such folder",
            hint="mount or make it; a path begins with / or ~, and checkpoints are kept nowhere else meanwhile",
        )
    return store_folder(base, store)


class Contents:
    """What a store holds: its notes by folder, the tree over them, and what is no note."""

    __slots__ = ("blocks", "folders", "root", "skipped")

    def __init__(self, folders: Surveyed, root: Root, blocks: Blocks, skipped: list[str]) -> None:
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
    automatic: bool = False,
    local: LocalState | None = None,
) -> Taken:
    """A checkpoint of the store as it is now.

    `full`: read every note, and replace damaged blocks of the image. `automatic`: it is taken of what a restore is
    about to replace. `local`: what the checkouts of this device hold, which is kept beside it.
    """
    if full:
        image.scan()
    request = _Request(author, reason, automatic, local)
    for _ in range(_ATTEMPTS - 1):
        try:
            return _take(backend, image, request, progress, full)
        except ConcurrentModificationError:
            continue  # the image was pruned or repaired under our hands, and is read anew by now
    return _take(backend, image, request, progress, full)


class _Request:
    """What a checkpoint is to say besides what the store holds."""

    __slots__ = ("author", "automatic", "local", "reason")

    def __init__(self, author: str, reason: str, automatic: bool, local: LocalState | None) -> None:
        self.author = author
        self.reason = reason
        self.automatic = automatic
        self.local = local


def _take(backend: StorageBackend, image: Image, request: _Request, progress: Progress | None, full: bool) -> Taken:
    # A damaged image may lack what is below a folder that it has, so nothing is taken over from the last look.
    full = full or image.damage is not None
    contents = survey(backend, image, progress=progress, full=full)
    is_there = image.is_whole if full else image.__contains__
    blocks = {cid: block for cid, block in contents.blocks.items() if not is_there(cid)}
    store = store_id(backend)
    last = image.newest(store)
    if last is not None and not blocks and not image.damage and _stands_for(last, contents.root, request, image):
        return Taken(last, False, contents)
    snapshot = Snapshot(
        contents.root,
        parent=last.id if last else None,
        store=store,
        time=int(time.time() * 1000),
        author=request.author,
        reason=request.reason,
        automatic=request.automatic,
    )
    device = None
    if request.local is not None:
        device = request.local.at(snapshot.id)
        blocks.update({cid: block for cid, block in request.local.blocks.items() if not is_there(cid)})
    image.append(blocks, snapshot, device)
    return Taken(snapshot, True, contents)


def _stands_for(last: Snapshot, root: Root, request: _Request, image: Image) -> bool:
    """Whether the last snapshot says all that a new one would. An automatic one does not: `latest` is never it."""
    if last.root.cid != root.cid or (last.automatic and not request.automatic):
        return False
    return request.local is None or request.local.is_in(image.device_state(last))


def survey(
    backend: StorageBackend, image: Image, *, progress: Progress | None = None, full: bool = False
) -> Contents:
    """Read what has changed since the last survey; for the rest, take over what was found then."""
    cache = os.path.join(os.path.dirname(image.path), "survey.cache")
    return _Survey(backend, image, {} if full else load_survey(cache)).run(cache, progress)


class _Survey:
    """One look at a store, with what the last one found beside it."""

    def __init__(self, backend: StorageBackend, image: Image, before: Surveyed) -> None:
        self._backend = backend
        self._image = image
        self._before = before
        self._after: Surveyed = {}
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
            save_survey(cache, self._after)
        return Contents(self._after, root, self._blocks, self._skipped)

    def _take_over(self, folder: Folder) -> list[Info]:
        """Keep what is known of a folder; the notes of which nothing is known."""
        key = folder.info.locator.key
        if key == layout.MOVES:
            folder.versions.clear()  # how notes came to be where they are: that stays true whatever is restored
        elif key == _STAMP_FOLDER:
            folder.versions.pop(_STAMP_NAME, None)
        known = self._before.get(key)
        now = self._after[key] = SurveyedFolder()
        if known is not None and known.has_notes(folder.versions) and self._holds(known):
            now.take_over(known)
            return []
        self._mark(key)
        notes = self._found[key] = dict.fromkeys(folder.versions)
        before = {} if known is None else known.notes()
        for name, version in folder.versions.items():
            note = before.get(name)
            if note is not None and version and note[0] == version and note[1][1] in self._image:
                notes[name] = note
        return [folder.note(name) for name, note in notes.items() if note is None]

    def _holds(self, known: SurveyedFolder) -> bool:
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
