"""Where the index of a store lies: in this user's cache, one per store, never inside the store.

A replicated database is a corrupt database, and a plain copy of an encrypted store is a leak; so there are stores
that get none. Searching them means reading them.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Device, read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend

SCHEMA = 3
"""The shape of the index. Part of its name: two versions of this plugin do not fight over one file."""


class NoPlace(Exception):
    """This store gets no index; the message says why."""


def index_path(backend: StorageBackend, environ: Mapping[str, str] | None = None) -> str:
    """The file that holds the index of this store, whether or not it is there; `NoPlace` if there must be none."""
    if backend.capabilities.encryption:
        raise NoPlace("the store is encrypted, and an index would be a readable copy of it")
    store_id = read_stamp(backend)
    if store_id is None:
        raise NoPlace("the store has no identity yet")
    folder = os.path.join(Device.now(environ).cache_dir, "stores", _safe(store_id))
    path = os.path.join(folder, *backend.tier_layout.local_index.parts, f"notes-{SCHEMA}.sqlite3")
    if _is_inside(path, backend.describe()):
        raise NoPlace(f"the cache directory lies inside the store ({path})")
    return path


def _safe(store_id: str) -> str:
    """The id as the name of a folder. It comes from a file that anybody may have written."""
    if store_id.isascii() and len(store_id) <= 64 and store_id.replace("-", "").isalnum():
        return store_id
    from hashlib import sha256

    return sha256(store_id.encode("utf-8", "backslashreplace")).hexdigest()


def _is_inside(path: str, place: str) -> bool:
    if not os.path.isabs(place):
        return False
    root = os.path.realpath(place)
    return os.path.realpath(path).startswith(root.rstrip(os.sep) + os.sep)
