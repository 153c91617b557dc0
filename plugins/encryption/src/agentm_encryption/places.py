"""Where this device keeps what belongs to encryption and must not lie in a store; and the keys that stay plain."""

from __future__ import annotations

import os

from agentm_kernel.plugin import STAMP_KEY, Locator, content_hash, layout

NAME = "encryption"
"""Of the wrapper, of its options, and of the folder on this device."""

KEYS = Locator(layout.KEYS)
_SAFE = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


def is_plain(locator: Locator) -> bool:
    """Whether this is stored as it is: the store's mark, and its keys, which are sealed in their own way."""
    return locator.key == STAMP_KEY or is_of_keys(locator)


def is_of_keys(locator: Locator) -> bool:
    return layout.KEYS in (locator.key, locator.key.rpartition("/")[0])


def is_kept_version(locator: Locator, key: str) -> bool:
    """Whether the store keeps there a version of the note `key` that lost to another one. Nothing there is a note."""
    if not locator.key.startswith(f"{layout.CONFLICTS}/"):
        return False
    return locator.key.startswith((f"{layout.CONFLICTS}/{key}/", f"{layout.CONFLICTS}/long-{content_hash(key)}/"))


def is_lost_key_file(locator: Locator) -> bool:
    """Whether the store keeps there a key file that lost to another one: two devices made new keys at once."""
    return locator.key.startswith(f"{layout.CONFLICTS}/{layout.KEYS}/")


def key_file(epoch: int) -> Locator:
    return KEYS.child(f"{epoch}.age")


def epoch_of(key_file: Locator) -> int | None:
    """The epoch that a key file belongs to; `None` for a file of another name, a conflict copy for one."""
    stem, _, suffix = key_file.name.partition(".")
    is_number = stem.isascii() and stem.isdigit() and not stem.startswith("0") and len(stem) < 10
    return int(stem) if is_number and suffix == "age" else None


def device_folder(state_dir: str) -> str:
    return os.path.join(state_dir, NAME)


def store_folder(state_dir: str, store_id: str) -> str:
    """What this device knows about one store. Its id is text from the store: only a plain one becomes a name."""
    if not store_id or len(store_id) > 64 or not _SAFE.issuperset(store_id):
        import hashlib

        store_id = hashlib.sha256(store_id.encode("utf-8", "surrogatepass")).hexdigest()
    return os.path.join(device_folder(state_dir), "stores", store_id)


def retired_folder(store_folder: str) -> str:
    """Where the key files of a store are kept that was made plain: older checkpoints are sealed with them."""
    return os.path.join(store_folder, "retired")
