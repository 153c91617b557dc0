"""Images of stores that are gone: which there are on this device, and which store is being refilled."""

from __future__ import annotations

import os

from agentm_checkpoint.beginning import store_named_by
from agentm_checkpoint.directories import checkpoints_folder, folder_of, image_path, make_folder, unusable
from agentm_checkpoint.image import Image
from agentm_checkpoint.settings import settings_of
from agentm_checkpoint.texts import agentm_of
from agentm_kernel.plugin import (
    STAMP_KEY,
    AgentmError,
    DeviceCopy,
    Locator,
    NotFoundError,
    StorageSelectionError,
    atomic_write,
    open_unidentified,
    read_or_none,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_kernel.plugin import Device, StorageBackend

_BEGINNING = 4096
_UNFINISHED = "unfinished-restore"


def all_images(device: Device) -> list[Image]:
    """Every image on this device, by its store's id: where images are kept now, and where they are by default."""
    bases = [checkpoints_folder(device.state_dir)]
    chosen = settings_of(device).image_folder
    if chosen is not None:
        bases.insert(0, device.expand(chosen))
    images: dict[str, Image] = {}
    for base in bases:
        for name in sorted(os.listdir(base)) if os.path.isdir(base) else ():
            path = image_path(os.path.join(base, name))
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    store = store_named_by(file.read(_BEGINNING)) or name
                images.setdefault(store, Image(path, store))
    return [images[store] for store in sorted(images)]


def find_image(device: Device, name: str, store: str | None) -> tuple[Image, Snapshot]:
    """The checkpoint that `name` means, of that store or, for an id, of whichever store has it."""
    images = [image for image in all_images(device) if store is None or image.store.startswith(store)]
    if store is not None and len({image.store for image in images}) != 1:
        problem = "several stores have" if images else "no store has"
        raise NotFoundError(
            f"{problem} checkpoints on this device and an id that begins with {ascii(store)}", hint=_list_them()
        )
    if store is not None:
        return images[0], images[0].find_certain(name)
    if name.startswith("latest"):
        raise NotFoundError(
            "this device does not know which store was here, so it cannot tell whose latest checkpoint is meant",
            hint=f"say which one: `agentm checkpoint restore ID --into-new`, or --store STORE; {_list_them()}",
        )
    found = [(image, shot) for image in images for shot in image.snapshots if shot.id.startswith(name)]
    if len({shot.id for _, shot in found}) != 1 or len(name) <= len("bafyrei"):
        raise NotFoundError(f"no one checkpoint on this device is called {ascii(name)}", hint=_list_them())
    return found[0]


def _list_them() -> str:
    return "`agentm checkpoint list --all-stores` shows what there is"


def explain_loss(error: StorageSelectionError, device: Device) -> StorageSelectionError:
    """The refusal, with the way back if this device has checkpoints of the store that is gone."""
    count = count_lost(device)
    if not count:
        return error
    way = f"`{agentm_of(device)} checkpoint restore latest --into-new` brings it back"
    error.hint = f"{way}; or {error.hint}" if error.hint else way
    return error


def count_lost(device: Device) -> int:
    """How many checkpoints there are of the store that this device knows at the selected place, if that is gone."""
    try:
        store = open_unidentified(device)
        if store.known is None or _is_there(store.backend):
            return 0
        return sum(len(image.snapshots) for image in all_images(device) if image.store == store.known)
    except (AgentmError, OSError):
        return 0  # whatever else is wrong is what the refusal speaks of


def is_marked(backend: StorageBackend) -> bool:
    """Whether a store is there: its own mark is read, not the one that a copy on this device has of it."""
    return read_or_none(backend, Locator(STAMP_KEY)) is not None


def _is_there(backend: StorageBackend) -> bool:
    """The same, where a folder that cannot be read is a store that is gone; a server that is silent is not."""
    try:
        return is_marked(backend)
    except AgentmError:
        if backend.facet(DeviceCopy) is not None:
            raise
        return False


# ------------------------------------------------------------------------------------------------ refilling


def begin_restore(device: Device, store: str, checkpoint: str) -> None:
    """Remember that a store has its identity back and not yet all of its notes."""
    folder = folder_of(device.state_dir, store)
    make_folder(folder)
    atomic_write(os.path.join(folder, _UNFINISHED), f"{checkpoint}\n")


def finish_restore(folder: str) -> None:
    try:
        os.unlink(os.path.join(folder, _UNFINISHED))
    except FileNotFoundError:
        pass


def unfinished_restore(folder: str) -> str | None:
    """The checkpoint that a store was being refilled from when that was interrupted."""
    path = os.path.join(folder, _UNFINISHED)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path, error) from error
