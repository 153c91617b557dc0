"""Where what is derived of a store lies on this device: its index, and what is written beside that.

In this user's cache, one folder per store, never inside the store. A replicated database is a corrupt database, and a
plain copy of an encrypted store is a leak. So what is derived of an encrypted store is sealed, and there are stores
that get no index: searching them means reading them.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Device, DeviceCopy, Identity, Sealed, layout, read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend

SCHEMA = 3
"""The shape of the index. Part of its name: two versions of this plugin do not fight over one file."""
OUTLINES, REMARKS = "outlines-3", "remarks-1"
"""Folders beside the index, with a file for each project."""


class NoPlace(Exception):
    """This store gets no index; the message says why."""


# -- the store ------------------------------------------------------------------------------------------------


def is_elsewhere(backend: StorageBackend) -> bool:
    """Whether the notes are behind a network, where no hook may go. What is encrypted here is here all the same."""
    return _as_held(backend).facet(DeviceCopy) is not None


def has_times(backend: StorageBackend) -> bool:
    """Whether the store is files on this device, whose folders have times that mean something."""
    return _as_held(backend).capabilities.device_files


def _as_held(backend: StorageBackend) -> StorageBackend:
    sealed = backend.facet(Sealed)
    return backend if sealed is None else sealed.as_stored


# -- the index ------------------------------------------------------------------------------------------------


def index_path(backend: StorageBackend, environ: Mapping[str, str] | None = None) -> str:
    """The file that holds the index of this store, whether or not it is there; `NoPlace` if there must be none."""
    is_encrypted = backend.capabilities.encryption
    sealed = backend.facet(Sealed) if is_encrypted else None
    if is_encrypted and sealed is None:
        raise NoPlace("the store is encrypted, and an index would be a readable copy of it")
    identity = backend.facet(Identity)
    store_id = (identity and identity.store_id) or read_stamp(backend)
    if store_id is None:
        raise NoPlace("the store has no identity yet")
    folder = os.path.join(Device.now(environ).cache_dir, "stores", _safe(store_id))
    name = f"notes-{SCHEMA}.{'sqlite3' if sealed is None else 'sealed'}"
    path = os.path.join(folder, *backend.tier_layout.local_index.parts, name)
    if _is_inside(path, backend.describe()):
        raise NoPlace(f"the cache directory lies inside the store ({path})")
    if sealed is None:
        return path
    from agentm_recall.index.sealed_place import SealedPlace

    return SealedPlace.of(path, sealed)


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


# -- what lies beside it --------------------------------------------------------------------------------------


def beside(index: str, folder: str, project: str | None) -> str:
    """The file about a project in a folder beside an index; about what is personal, without a project.

    A project's name is one part of a key, so it can be the name of a file on every system.
    """
    name = layout.PERSONAL if project is None else f"project {project}"
    return os.path.join(os.path.dirname(index), folder, name)


def has_beside(index: str, folder: str) -> bool:
    """Whether there is such a folder beside an index: where there is none, what reads it need not be loaded."""
    return bool(index) and os.path.isdir(os.path.join(os.path.dirname(index), folder))


def seal_of(index: str) -> Sealed | None:
    """What seals and opens an index and all beside it; `None` for a plain one."""
    return getattr(index, "sealed", None)


def read_beside(index: str, path: str) -> bytes:
    """A file that lies beside an index: `OSError` if it cannot be read, `ValueError` if it cannot be opened."""
    with open(path, "rb", buffering=0) as file:
        data = file.readall()
    sealed = seal_of(index)
    if sealed is None:
        return data
    from agentm_kernel.plugin import IntegrityError

    try:
        return sealed.open_derived(data)
    except IntegrityError as error:  # it is damaged, or somebody else's
        raise ValueError(error.message) from error


def write_beside(index: str, path: str, data: bytes) -> None:
    """Put a file beside an index, whole or not at all."""
    sealed = seal_of(index)
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data if sealed is None else sealed.seal_derived(data))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
