"""Where the index of a store lies: in this user's cache, one per store, never inside the store.

A replicated database is a corrupt database, and a plain copy of an encrypted store is a leak. So the index of an
encrypted store is sealed, and there are stores that get none: searching them means reading them.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Device, Sealed, read_stamp
from agentm_recall.index.sealed_place import SealedPlace

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
    sealed = backend.facet(Sealed) if backend.capabilities.encryption else None
    if backend.capabilities.encryption and sealed is None:
        raise NoPlace("the store is encrypted, and an index would be a readable copy of it")
    store_id = read_stamp(backend)
    if store_id is None:
        raise NoPlace("the store has no identity yet")
    folder = os.path.join(Device.now(environ).cache_dir, "stores", _safe(store_id))
    name = f"notes-{SCHEMA}.{'sqlite3' if sealed is None else 'sealed'}"
    path = os.path.join(folder, *backend.tier_layout.local_index.parts, name)
    if _is_inside(path, backend.describe()):
        raise NoPlace(f"the cache directory lies inside the store ({path})")
    return path if sealed is None else SealedPlace.of(path, sealed)


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
