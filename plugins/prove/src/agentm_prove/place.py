"""Where to try: on the file system of the configured store, beside it, and never in it or in any other store."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import STAMP_KEY, AgentmError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device

PREFIX = ".agentm-prove-"
"""How the folders of trials begin: by that a later run knows what a killed one left."""


@dataclass(frozen=True)
class Place:
    """A folder in which trials may make theirs, and what has to be said about it."""

    parent: str
    file_system: str
    protocol: str
    remarks: tuple[str, ...]


def find_place(device: Device) -> Place | str:
    """The best place on this device; if there is none, the reason."""
    root, protocol, remarks = _configured_store(device)
    wanted = _device_of(root) if root else None
    candidates = list(_candidates(device, root))
    usable = [folder for folder in candidates if _may_make_folders(folder) and not _is_in_a_store(folder)]
    if not usable:
        return f"no folder can be written to: {', '.join(dict.fromkeys(candidates))}"
    beside = [folder for folder in usable if wanted is not None and _device_of(folder) == wanted]
    parent = (beside or usable)[0]
    if root and not beside:
        own, other = file_system_of(root), file_system_of(parent)
        remarks += (f"nothing can be made beside the store on its file system ({own}): {other} was tried instead",)
    return Place(parent, file_system_of(parent), protocol, remarks)


def _configured_store(device: Device) -> tuple[str | None, str, tuple[str, ...]]:
    """The folder of the configured store, its protocol, and what is in the way."""
    from agentm_kernel.plugin import choose_protocol

    try:
        protocol = choose_protocol(environ=device.environ)
        store = device.store()
    except AgentmError as error:
        return None, "device-local", (f"the configured store cannot be used now: {error.message}",)
    root = store.describe()  # for a store of files, its folder
    if not store.capabilities.device_files or not os.path.isabs(root):
        remark = f"the store, {root}, is not files on this device: what lies there was not tried"
        return None, protocol, (remark,)
    return _existing(root), protocol, ()


def _existing(path: str) -> str:
    """`path`, or the folder in which it would be made."""
    while not os.path.isdir(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def places_to_sweep(device: Device) -> list[str]:
    """The folders in which an earlier run may have left something."""
    return list(dict.fromkeys(_candidates(device, _configured_store(device)[0])))


def _candidates(device: Device, root: str | None) -> Iterator[str]:
    """First the folders that no sync tool watches: agentm's own; then where the store lies; then temporary ones."""
    yield _existing(device.state_dir)
    yield _existing(device.cache_dir)
    if root:
        yield os.path.dirname(os.path.realpath(root))
    try:
        yield tempfile.gettempdir()
    except FileNotFoundError:
        pass  # none of them can be written to


def _device_of(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _may_make_folders(folder: str) -> bool:
    """Whether a folder can really be made: a read-only mount answers `access` as the mode says."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    except OSError:
        return False
    return True


def _is_in_a_store(folder: str) -> bool:
    path = os.path.realpath(folder)
    while True:
        if os.path.lexists(os.path.join(path, STAMP_KEY)):
            return True
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent


def file_system_of(path: str) -> str:
    """The kind of file system that `path` lies on, as far as the system tells."""
    real = os.path.realpath(path)
    best, kind = "", "a file system that this system does not name"
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                fields = line.split()
                where = fields[1].replace("\\040", " ")
                inside = real == where or real.startswith(where.rstrip("/") + "/")
                if inside and len(where) >= len(best):
                    best, kind = where, fields[2]
    except (OSError, IndexError):
        pass
    return kind
