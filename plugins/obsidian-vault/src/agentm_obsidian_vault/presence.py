"""Notes that are in the store but not on this device: sync tools download a file when somebody opens it.

Opening one may take seconds or fail, so the status is looked at first:

- macOS marks such a file (`SF_DATALESS`), Windows too (recall on open, recall on access, offline);
- elsewhere a file with a size and without blocks is a hole that somebody means to fill.

Some file systems do not count blocks at all, or not those of small files. The store's identity stamp is small, and it
is read whenever the store is opened, so it is here: where even the stamp has no blocks, the count says nothing.
(ext4 with inline data, btrfs, xfs, f2fs and ZFS count at least one block for a file with data, however small.)
"""

from __future__ import annotations

import sys

from agentm_kernel.plugin import StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from agentm_kernel.plugin import Locator

_SF_DATALESS = 0x40000000
_RECALL = 0x00400000 | 0x00040000 | 0x00001000  # recall on data access, recall on open, offline


def is_elsewhere(status: os.stat_result, counts_blocks: Callable[[], bool]) -> bool:
    """Whether a file's content has to be fetched first. `counts_blocks` is only asked when it matters."""
    if sys.platform == "darwin":
        return bool(status.st_flags & _SF_DATALESS)
    if sys.platform == "win32":
        return bool(status.st_file_attributes & _RECALL)
    return status.st_size > 0 and status.st_blocks == 0 and counts_blocks()


def means_elsewhere(error: OSError) -> bool:
    """Whether a failure to read says that the system refused to wait for the download."""
    import errno

    return error.errno in (errno.EDEADLK, errno.EAGAIN, errno.ETIMEDOUT)


def elsewhere(locator: Locator, code: int | None = None) -> StorageIOError:
    """The refusal to read, replace or wait for a note that is not here."""
    import errno

    return StorageIOError(
        f"'{locator}' is not on this device yet: its sync tool has only a placeholder here",
        errno=errno.ETIMEDOUT if code is None else code,
        hint="open it once, or keep the vault's folder on this device (pin, available offline); then try again",
    )
