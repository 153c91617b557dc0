"""Where this device keeps what belongs to a store and must not lie in it: the image, and what is known to be good.

Outside of the store, because whoever can write to the store (a sync tool, another device, a program gone wrong) must
not be able to change the one or bless the other.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import StorageError, StorageIOError, read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend

_SAFE = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


def store_id(backend: StorageBackend) -> str:
    """The id in the store's stamp, `StorageError` if it carries none."""
    found = read_stamp(backend)
    if found is None:
        raise StorageError(
            f"the store at {backend.describe()} has no identity yet, so there is nothing to tie a checkpoint to",
            hint="write a first note: the store gets its identity with it",
        )
    return found


def folder_of(state_dir: str, store: str) -> str:
    """The folder on this device for what belongs to one store."""
    return store_folder(checkpoints_folder(state_dir), store)


def checkpoints_folder(state_dir: str) -> str:
    return os.path.join(state_dir, "checkpoints")


def store_folder(base: str, store: str) -> str:
    """The folder of one store below `base`. Its id is text from the store, so only a plain one is used as a name."""
    if not store or len(store) > 64 or not _SAFE.issuperset(store):
        import hashlib

        store = hashlib.sha256(store.encode("utf-8", "surrogatepass")).hexdigest()
    return os.path.join(base, store)


def image_path(folder: str) -> str:
    return os.path.join(folder, "image.car")


def history_folder(folder: str) -> str:
    """A folder of its own: whoever writes a note need not wait for whoever takes a checkpoint."""
    return os.path.join(folder, "history")


def make_folder(folder: str) -> None:
    from agentm_kernel.plugin import make_private_folder

    try:
        make_private_folder(folder)
    except OSError as error:
        raise unusable(folder, error) from error


def unusable(path: str, error: OSError) -> StorageIOError:
    """What is said where this user cannot read or make what belongs to a store: `sudo` may have made it, once."""
    hint = "check the disk, and who owns that: this device keeps there what belongs to the store's checkpoints"
    return StorageIOError(f"cannot use {path}: {error.strerror}", errno=error.errno, hint=hint)
