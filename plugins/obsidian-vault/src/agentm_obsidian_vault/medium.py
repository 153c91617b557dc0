"""What a folder is like that a sync tool replicates: files that are not notes, and notes that are not here.

Sync tools download a file when somebody opens it. That may take seconds or fail, so the status is looked at first:

- macOS marks such a file (`SF_DATALESS`), Windows too (recall on open, recall on access, offline);
- elsewhere a file with a size and without blocks is a hole that somebody means to fill.

Some file systems do not count blocks at all, or not those of small files. The store's identity stamp is small, and it
is read whenever the store is opened, so it is here: where even the stamp has no blocks, the count says nothing.
(ext4 with inline data, btrfs, xfs, f2fs and ZFS count at least one block for a file with data, however small.)
"""

from __future__ import annotations

import os
import sys

from agentm_kernel import plugin
from agentm_kernel.plugin import STAMP_KEY, Medium
from agentm_obsidian_vault.names import is_tool_file, may_be_copies_of, may_be_copy, note_of_stub, stub_of_note

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    from agentm_kernel.plugin import Beside, Directory, FolderNames, Locator

_SF_DATALESS = 0x40000000
_RECALL = 0x00400000 | 0x00040000 | 0x00001000  # recall on data access, recall on open, offline


class SyncedFolder(Medium):
    """The folder `root`; `devices` are names of computers that may stand in the names of conflict copies."""

    def __init__(self, root: str, devices: tuple[str, ...] = ()) -> None:
        self._root = root
        self._devices = devices
        self._blocks_are_counted: bool | None = None

    # -- names --------------------------------------------------------------------------------------------------

    is_hidden = staticmethod(is_tool_file)

    def is_copy(self, name: str, beside: Beside) -> bool:
        if not may_be_copy(name, self._devices):
            return False
        from agentm_obsidian_vault.conflicts import conflict_copy

        return conflict_copy(name, beside, self._devices) is not None

    def note_name(self, name: str) -> str:
        return note_of_stub(name) or name

    def check_new_name(self, locator: Locator, names: FolderNames) -> None:
        """A note that comes into being must not turn another one into its conflict copy."""
        others = may_be_copies_of(locator.name, names, self._devices)
        if not others:
            return
        from agentm_kernel.plugin import LocatorConflictError
        from agentm_obsidian_vault.conflicts import conflict_copy

        before, after = set(names), {*names, locator.name}
        for name in others:
            was_note = conflict_copy(name, before.__contains__, self._devices) is None and not is_tool_file(name)
            if was_note and conflict_copy(name, after.__contains__, self._devices):
                raise LocatorConflictError(
                    f"beside '{locator}', the note {ascii(name)} would look like its conflict copy",
                    hint="choose another name, or rename that note first",
                )

    # -- notes that are not here --------------------------------------------------------------------------------

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        if not self.is_at_hand(status):
            raise elsewhere(locator)

    def when_missing(self, directory: Directory, locator: Locator) -> None:
        stub = stub_of_note(locator.name)
        if not directory.looks_free(stub) and directory.has(stub):
            raise elsewhere(locator)

    def when_unreadable(self, locator: Locator, error: OSError) -> None:
        import errno

        if error.errno in (errno.EDEADLK, errno.EAGAIN, errno.ETIMEDOUT):  # the system refused to wait for it
            raise elsewhere(locator, error.errno) from error

    def is_at_hand(self, status: os.stat_result) -> bool:
        """Whether a file's content need not be fetched first."""
        if sys.platform == "darwin":
            return not status.st_flags & _SF_DATALESS
        if sys.platform == "win32":
            return not status.st_file_attributes & _RECALL
        return status.st_size == 0 or status.st_blocks > 0 or not self._counts_blocks()

    def _counts_blocks(self) -> bool:
        """Whether this file system counts the blocks of small files."""
        if self._blocks_are_counted is None:
            try:
                stamp = os.stat(os.path.join(self._root, *STAMP_KEY.split("/")))
            except OSError:
                return True
            self._blocks_are_counted = stamp.st_blocks > 0
        return self._blocks_are_counted

    # -- versions that a write displaced unseen ---------------------------------------------------------------------

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        from agentm_obsidian_vault.kept import UNSEEN, place_for

        return place_for(locator, digest, UNSEEN)


def elsewhere(locator: Locator, code: int | None = None) -> plugin.StorageIOError:
    """The refusal to read, replace or wait for a note that is not here."""
    import errno

    return plugin.StorageIOError(
        f"'{locator}' is not on this device yet: its sync tool has only a placeholder here",
        errno=errno.ETIMEDOUT if code is None else code,
        hint="open it once, or keep the vault's folder on this device (pin, available offline); then try again",
    )
