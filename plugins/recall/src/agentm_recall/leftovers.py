"""Versions of notes that a write replaced, in folders that nobody has written to since.

A write leaves what it replaced beside the note for some seconds, hidden: another program may hold it open. The
next write in that folder settles it. Where none comes, in a folder of old notes, it would lie there for ever.
"""

from __future__ import annotations

import os
import time

from agentm_kernel.plugin import TEMP_PREFIX, DeviceFiles, Locator, walk_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend

_SUFFIX = ".swap"
_AGE = 120.0
"""Seconds: by then, any write in the folder would settle it."""


def settle_leftovers(store: StorageBackend, *, age: float = _AGE) -> int:
    """Let the store look at what lies in its folders for longer than that; in how many folders."""
    files = store.facet(DeviceFiles)
    if files is None:
        return 0
    found = [
        folder.info.locator
        for folder in walk_folders(store, Locator())
        if _has_leftover(files.device_path(folder.info.locator), time.time() - age)
    ]
    for folder in found:
        store.mkdir(folder)  # it is there; making sure of that is a write like any other, and settles what it finds
    return len(found)


def _has_leftover(path: str, before: float) -> bool:
    try:
        with os.scandir(path) as entries:
            return any(
                entry.name.startswith(TEMP_PREFIX)
                and entry.name.endswith(_SUFFIX)
                and entry.stat(follow_symlinks=False).st_ctime <= before
                for entry in entries
            )
    except OSError:  # gone meanwhile, or not ours to read: the next time
        return False
