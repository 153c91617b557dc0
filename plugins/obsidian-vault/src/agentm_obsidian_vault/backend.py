"""`FileStore` in a folder that a sync tool replicates between devices."""

from __future__ import annotations

import os
import stat
import time

from agentm_kernel.plugin import (
    ABSENT,
    MAX_CONTENT_BYTES,
    STAMP_KEY,
    Capabilities,
    FileStore,
    Locator,
    LocatorConflictError,
    NotFoundError,
    PersonalSpace,
    StorageSelectionError,
)
from agentm_obsidian_vault.names import is_tool_file, may_be_copy, may_be_copy_of, note_of_stub, stub_of_note
from agentm_obsidian_vault.presence import elsewhere, is_elsewhere, means_elsewhere

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Absent, Authorization, Beside, Device, Directory, Opening
    from agentm_obsidian_vault.personal import PersonalFiles

PROTOCOL = "vault"
PATH_VARIABLE = "MEMORY_VAULT_PATH"

AT_HAND = 0.5
"""Seconds within which a file that is on this device can be read, however busy the disk."""

_CAPABILITIES = Capabilities(concurrent_writers=True, conflict_files=True, sync=True, device_files=True, delete=True)
_SET_PERSONAL_ROOT = f"run `agentm config set plugins.{PROTOCOL}.personal_root PATH`: a folder above or beside it"
_OPTIONS = ("vault_path", "personal_root", "devices", "size_limit")
_OLDER_OPTIONS = ("memory_root", "spaces")
"""What configurations of older installs hold: the store's folder below `vault_path`, and names for its parts."""


class VaultBackend(FileStore, PersonalSpace):
    """Options: `vault_path`, the agent's store (`$MEMORY_VAULT_PATH` beats it); `personal_root`, the operator's own
    notes, above or beside it; `devices`, names of the operator's computers; `size_limit`, in bytes.

    The folder is never made here: one that is missing is not mounted or not synced yet, and must not look empty.
    """

    scratch_options = {"vault_path": "{scratch}"}  # noqa: RUF012 - as the seam declares it
    has_other_writers = True

    def __init__(
        self,
        vault_path: str | os.PathLike[str],
        *,
        personal_root: str | os.PathLike[str] | None = None,
        devices: Iterable[str] = (),
        size_limit: int = MAX_CONTENT_BYTES,
    ) -> None:
        super().__init__(vault_path, size_limit=size_limit)
        self._personal_root = os.path.abspath(personal_root) if personal_root else None
        self._devices = tuple(devices)
        self._blocks_are_counted: bool | None = None
        self._lazy_personal: PersonalFiles | None = None

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        unknown = options.keys() - {*_OPTIONS, *_OLDER_OPTIONS}
        if unknown:
            from agentm_kernel.plugin import check_options

            check_options(PROTOCOL, unknown, _OPTIONS)
        given = {name: value for name, value in options.items() if name in _OPTIONS}
        path = given.pop("vault_path", None)
        if isinstance(path, str) and path and options.get("memory_root"):
            path = os.path.join(path, *Locator(options["memory_root"]).parts)
        path = device.environ.get(PATH_VARIABLE, "").strip() or path
        if not path:
            raise StorageSelectionError(
                "the vault is selected, but not where it is",
                hint="run `agentm vault init PATH --use`, with the folder in your vault that the agent may have",
            )
        if given.get("personal_root"):
            given["personal_root"] = _folder(given["personal_root"], "personal_root", device)
        if isinstance(given.get("devices"), str):
            given["devices"] = [name.strip() for name in given["devices"].split(",") if name.strip()]
        return cls(_folder(path, "vault_path", device), **given)

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of computers that may stand in the names of conflict copies."""
        return self._devices

    def check_usable(self, *, read_only: bool) -> None:
        if not os.path.isdir(self.describe()):
            raise StorageSelectionError(
                f"the vault's folder {self.describe()} is missing or not a folder",
                hint="start the sync tool or mount the disk that brings it; if it has moved, run "
                f"`agentm config set plugins.{PROTOCOL}.vault_path PATH`; for a new one `agentm vault init PATH`",
            )
        if read_only:  # hooks ask this all the time
            return
        super().check_usable(read_only=False)
        if self._personal_root is not None and _is_inside(self._personal_root, self.describe()):
            raise StorageSelectionError(
                f"the personal space {self._personal_root} lies inside the agent's store {self.describe()}",
                hint=_SET_PERSONAL_ROOT,
            )

    # -- names --------------------------------------------------------------------------------------------------

    def is_hidden(self, name: str) -> bool:
        return is_tool_file(name)

    def is_copy(self, name: str, beside: Beside) -> bool:
        if not may_be_copy(name, self._devices):
            return False
        from agentm_obsidian_vault.conflicts import conflict_copy

        return conflict_copy(name, beside, self._devices) is not None

    def note_name(self, name: str) -> str:
        return note_of_stub(name) or name

    def check_new_name(self, locator: Locator, names: Collection[str]) -> None:
        """A note that comes into being must not turn another one into its conflict copy."""
        others = [name for name in names if may_be_copy_of(locator.name, name, self._devices)]
        if not others:
            return
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
        if self._is_elsewhere(status):
            raise elsewhere(locator)

    def when_missing(self, directory: Directory, locator: Locator) -> None:
        if directory.has(stub_of_note(locator.name)):
            raise elsewhere(locator)

    def when_unreadable(self, locator: Locator, error: OSError) -> None:
        if means_elsewhere(error):
            raise elsewhere(locator, error.errno) from error

    def _is_elsewhere(self, status: os.stat_result) -> bool:
        return is_elsewhere(status, self._counts_blocks)

    def _counts_blocks(self) -> bool:
        """Whether this file system counts the blocks of small files; see `presence`."""
        if self._blocks_are_counted is None:
            try:
                stamp = os.stat(os.path.join(self.describe(), *STAMP_KEY.split("/")))
            except OSError:
                return True
            self._blocks_are_counted = stamp.st_blocks > 0
        return self._blocks_are_counted

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if if_match is not ABSENT:
            self._bring_here(locator)
        return super().write(locator, content, if_match=if_match)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        if if_match is not None:
            self._bring_here(locator)
        super().delete(locator, if_match=if_match)

    def _bring_here(self, locator: Locator) -> None:
        """Read what a write will compare with once before the mutex is taken: nobody waits for a download in there.

        A file that takes long takes long once; one that always does is refused.
        """
        from agentm_kernel.plugin import Failures, hash_of_note

        for _ in range(2):
            start = time.monotonic()
            try:
                with Failures("read", locator, reading=True), self._reader.open_parent(locator) as parent:
                    status = parent.status(locator.name)
                    if status is not None and stat.S_ISREG(status.st_mode):
                        hash_of_note(self, parent, locator, status)
            except NotFoundError:
                return
            if time.monotonic() - start < AT_HAND:
                return
        raise elsewhere(locator)

    def is_at_hand(self, status: os.stat_result) -> bool:
        return not self._is_elsewhere(status)

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        from agentm_obsidian_vault.kept import UNSEEN, place_for

        return place_for(locator, digest, UNSEEN)

    # -- the operator's own space ---------------------------------------------------------------------------------

    def personal_path(self, locator: Locator) -> str:
        return self._personal.shown_path(locator)

    def write_personal(
        self,
        locator: Locator,
        content: str,
        *,
        authorization: Authorization,
        if_match: str | Absent | None = None,
    ) -> Locator:
        from agentm_obsidian_vault.personal import audited

        personal = self._personal
        authorization.use(locator, content)
        with audited(self, locator, content):
            return personal.write(locator, content, if_match=if_match)

    @property
    def _personal(self) -> PersonalFiles:
        if self._personal_root is None:
            raise StorageSelectionError("the vault has no personal space", hint=_SET_PERSONAL_ROOT)
        if self._lazy_personal is None:
            from agentm_obsidian_vault.personal import PersonalFiles

            self.check_usable(read_only=False)
            self._lazy_personal = PersonalFiles(
                self._personal_root,
                self.describe(),
                size_limit=self._size_limit,
                is_elsewhere=self._is_elsewhere,
            )
        return self._lazy_personal


def _folder(path: object, option: str, device: Device) -> str:
    if not isinstance(path, str) or not os.path.isabs(expanded := device.expand(path.strip())):
        raise StorageSelectionError(
            f"the vault's {option} is {path!r}, not the full path of a folder",
            hint=f"run `agentm config set plugins.{PROTOCOL}.{option} PATH` with a path that begins with / or ~",
        )
    return expanded


def _is_inside(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)
