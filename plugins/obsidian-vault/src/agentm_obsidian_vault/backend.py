"""`FileStore` in a folder that a sync tool replicates between devices."""

from __future__ import annotations

import os
import time

from agentm_kernel import plugin  # of which names are taken where they are needed, if hooks seldom need them
from agentm_kernel.plugin import ABSENT, MAX_CONTENT_BYTES, Capabilities, ConflictCopies, FileStore, Locator
from agentm_obsidian_vault.medium import SyncedFolder, elsewhere

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Mapping
    from typing import Any, Self, TypeVar

    from agentm_kernel.plugin import Absent, ConflictCopy, Device, Opening

    F = TypeVar("F")

PROTOCOL = "vault"
PATH_VARIABLE = "MEMORY_VAULT_PATH"

AT_HAND = 0.5
"""Seconds within which a file that is on this device can be read, however busy the disk."""

_CAPABILITIES = Capabilities(concurrent_writers=True, conflict_files=True, sync=True, device_files=True, delete=True)
_BOTH_RENAMED = ("..path1", "..path2", ".conflict1", ".conflict2")
"""How the names of both versions end where a tool, rclone, leaves none under the note's own name."""
_SET_PERSONAL_ROOT = f"run `agentm config set plugins.{PROTOCOL}.personal_root PATH`: a folder above or beside it"


class VaultBackend(FileStore, ConflictCopies):
    """Options: `vault_path`, the agent's store (`$MEMORY_VAULT_PATH` beats it); `personal_root`, the operator's own
    notes, above or beside it; `personal_confirm`, a program that must agree to writes there; `devices`, names of the
    operator's computers; `size_limit`, in bytes.

    The folder is never made here: one that is missing is not mounted or not synced yet, and must not look empty.
    """

    scratch_options = {"vault_path": "{scratch}"}  # noqa: RUF012 - as the seam declares it

    def __init__(
        self,
        vault_path: str | os.PathLike[str],
        *,
        personal_root: str | os.PathLike[str] | None = None,
        personal_confirm: str | Iterable[str] = (),
        devices: Iterable[str] = (),
        size_limit: int = MAX_CONTENT_BYTES,
    ) -> None:
        self._devices = tuple(devices)
        self._synced = SyncedFolder(os.path.abspath(vault_path), self._devices)
        super().__init__(vault_path, medium=self._synced, size_limit=size_limit)
        self._personal_root = os.path.abspath(personal_root) if personal_root else None
        self._personal_confirm = personal_confirm

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        if options.keys() != {"vault_path"}:  # as nearly always: then hooks need not load the declarations
            from agentm_kernel.plugin import check_options
            from agentm_obsidian_vault.options import OPTIONS

            check_options(PROTOCOL, options, OPTIONS)
        given = dict(options)
        path = given.pop("vault_path", None)
        if isinstance(path, str) and path and options.get("memory_root"):
            path = os.path.join(path, *Locator(options["memory_root"]).parts)
        given.pop("memory_root", None)  # of older installs, as is the next
        given.pop("spaces", None)
        path = device.environ.get(PATH_VARIABLE, "").strip() or path
        if not path:
            raise plugin.StorageSelectionError(
                "nothing says where the vault is",
                hint="run `agentm vault init PATH --use`, with the folder in your vault that the agent may have; "
                "with --take-along instead to bring the notes of the store before",
            )
        if given.get("personal_root"):
            given["personal_root"] = _folder(given["personal_root"], "personal_root", device)
        if isinstance(given.get("devices"), str):
            given["devices"] = [name.strip() for name in given["devices"].split(",") if name.strip()]
        store = cls(_folder(path, "vault_path", device), **given)
        store.state_dir = opening.state_dir
        return store

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of computers that may stand in the names of conflict copies."""
        return self._devices

    def check_usable(self, *, read_only: bool) -> None:
        if not os.path.isdir(self.describe()):
            raise plugin.StorageSelectionError(
                f"the vault's folder {self.describe()} is missing or not a folder",
                hint="start the sync tool or mount the disk that brings it; if it has moved, run "
                f"`agentm config set plugins.{PROTOCOL}.vault_path PATH`; for a new one `agentm vault init PATH`",
            )
        if read_only:  # hooks ask this all the time
            return
        super().check_usable(read_only=False)
        if self._personal_root is not None and _is_inside(self._personal_root, self.describe()):
            raise plugin.StorageSelectionError(
                f"the personal space {self._personal_root} lies inside the agent's store {self.describe()}",
                hint=_SET_PERSONAL_ROOT,
            )

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        try:
            return super().read(locator)
        except plugin.NotFoundError:
            # A note of which a tool renamed both versions is not absent. Looking for names that it would have costs
            # microseconds; listing a folder of thousands of notes for each new one would cost its writer more.
            path = self.device_path(locator)
            if not any(os.access(path + ending, os.F_OK) for ending in _BOTH_RENAMED):
                raise
            from agentm_obsidian_vault.survey import in_conflict

            if (conflict := in_conflict(self, locator)) is None:
                raise
            raise conflict from None

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if if_match is not ABSENT:
            self._bring_here(locator)
        return super().write(locator, content, if_match=if_match)

    def append(self, locator: Locator, text: str) -> Locator:
        self._bring_here(locator)
        return super().append(locator, text)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        if if_match is not None:
            self._bring_here(locator)
        super().delete(locator, if_match=if_match)

    def _bring_here(self, locator: Locator) -> None:
        """Read what a write will compare with once before the mutex is taken: nobody waits for a download in there.

        A file that takes long takes long once; one that always does is refused.
        """
        if not os.access(f"{self.root}/{locator.key}", os.F_OK):
            return
        for _ in range(2):
            start = time.monotonic()
            if self.tree.hash(locator) is None or time.monotonic() - start < AT_HAND:
                return
        raise elsewhere(locator)

    # -- what else there is ---------------------------------------------------------------------------------------

    def facet(self, kind: type[F]) -> F | None:
        if self._personal_root is not None and kind is plugin.PersonalSpace:
            from agentm_obsidian_vault.personal import PersonalNotes

            return PersonalNotes(  # type: ignore[return-value]
                self, self._synced, self._personal_root, self._personal_confirm
            )
        return super().facet(kind)

    def conflict_copies(self, below: Locator) -> builtins.list[ConflictCopy]:
        from agentm_obsidian_vault.survey import conflict_copies

        return conflict_copies(self, below)

    def read_copy(self, copy: Locator) -> str:
        from agentm_obsidian_vault.survey import read_copy

        return read_copy(self, copy)


def _folder(path: object, option: str, device: Device) -> str:
    if not isinstance(path, str) or not os.path.isabs(expanded := device.expand(path.strip())):
        raise plugin.StorageSelectionError(
            f"the vault's {option} is {path!r}, not the full path of a folder",
            hint=f"run `agentm config set plugins.{PROTOCOL}.{option} PATH` with a path that begins with / or ~",
        )
    return expanded


def _is_inside(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)
