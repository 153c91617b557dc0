"""What `agentm doctor` says about a vault: whether it is the one, and what in it wants looking at."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    TEMP_PREFIX,
    AgentmError,
    ConflictCopies,
    DoctorRow,
    StoreIdentityError,
    check_store,
    hookimpl,
)
from agentm_obsidian_vault.backend import PROTOCOL, VaultBackend
from agentm_obsidian_vault.lost_and_found import lost_files
from agentm_obsidian_vault.setup import clashing_folders
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import HookContext

_SHOWN = 3


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """Nothing, where no vault is configured, or the operator has chosen a store: what is wrong with it is said."""
    store = context.store
    vault = None if store is None else store.facet(ConflictCopies)
    if isinstance(vault, VaultBackend):
        return list(_rows(vault, context))
    config = context.device.config
    path = config.options(PROTOCOL).get("vault_path")
    is_settled = config.storage_backend == PROTOCOL or (store is not None and config.storage_backend is not None)
    return [_not_selected(path)] if path and not is_settled else None


def _not_selected(path: object) -> DoctorRow:
    return DoctorRow(
        "warn",
        "vault",
        f"the vault {path} is configured but is not the selected store",
        f"see the storage row; run `agentm config set storage.backend {PROTOCOL}` to use it, or "
        f"`agentm config unset plugins.{PROTOCOL}` if it is not wanted any more",
    )


def _rows(vault: VaultBackend, context: HookContext) -> Iterator[DoctorRow]:
    yield _path_row(vault)
    yield _identity_row(vault, context)
    try:
        yield _conflicts_row(vault)
        yield from _clash_rows(vault)
        yield from _lost_rows(context)
        paths = sorted(_paths(vault.describe()))
        yield _collisions_row(paths)
        yield _leftovers_row(paths)
    except AgentmError as error:
        yield DoctorRow("fail", "vault", error.message, error.hint)


def _path_row(vault: VaultBackend) -> DoctorRow:
    try:
        vault.check_usable(read_only=False)
    except AgentmError as error:
        return DoctorRow("fail", "vault path", error.message, error.hint)
    return DoctorRow("ok", "vault path", f"{vault.describe()}, the selected store")


def _identity_row(vault: VaultBackend, context: HookContext) -> DoctorRow:
    try:
        store_id = check_store(context.device, vault, PROTOCOL)
    except StoreIdentityError as error:
        return DoctorRow("fail", "vault id", error.message, error.hint)
    if store_id is None:
        hint = f"run `agentm vault init {shlex.quote(vault.describe())}`"
        return DoctorRow("warn", "vault id", "the folder is not marked as a store", hint)
    return DoctorRow("ok", "vault id", store_id)


def _conflicts_row(vault: VaultBackend) -> DoctorRow:
    every = find_conflicts(vault)
    found = [conflict for conflict in every if not conflict.is_suspect]
    if not found:
        suspects = f"none; notes that only have names like copies: {len(every)}" if every else "none"
        return DoctorRow("ok", "conflicts", suspects)
    notes = sorted({conflict.base.key for conflict in found})
    return DoctorRow(
        "warn",
        "conflicts",
        f"{len(found)} other version{'s' * (len(found) != 1)} of {_some(notes)}",
        "`agentm vault conflicts` lists them, `agentm vault resolve` settles them",
    )


def _clash_rows(vault: VaultBackend) -> Iterator[DoctorRow]:
    names = clashing_folders(vault.describe())
    if names:
        yield DoctorRow(
            "fail",
            "folders",
            f"{_some(names)} differ only in case from the store's own folders, so no note can be written there",
            "rename them, or give the agent a folder inside: `agentm vault init PATH/Agent --create --use`",
        )


def _lost_rows(context: HookContext) -> Iterator[DoctorRow]:
    found = lost_files(context.device.environ)
    if found:
        yield DoctorRow(
            "warn",
            "lost and found",
            f"what Google Drive could not sync, it put aside ({len(found)}): {_some(found)}",
            "`agentm vault conflicts` lists them; take what is missing over by hand",
        )


def _collisions_row(paths: list[str]) -> DoctorRow:
    found = collisions(paths)
    if not found:
        return DoctorRow("ok", "collisions", "no two names differ only in case or Unicode form")
    return DoctorRow(
        "warn",
        "collisions",
        f"names that are one file on Windows or macOS: {_some(found)}",
        "rename one of each pair",
    )


def _leftovers_row(paths: list[str]) -> DoctorRow:
    found = [path for path in paths if _is_unfinished(os.path.basename(path))]
    if not found:
        return DoctorRow("ok", "leftovers", "none")
    return DoctorRow(
        "warn",
        "leftovers",
        f"{len(found)} unfinished writes: {_some(found)}",
        "the next write to their folder clears them up; nothing in them is lost",
    )


def _is_unfinished(name: str) -> bool:
    """Whether a killed writer left a file. Displaced versions (`.swap`) wait for programs that hold them."""
    return name.startswith(TEMP_PREFIX) and not name.endswith(".swap")


def collisions(paths: list[str]) -> list[str]:
    """Those that differ from another one before them only in case or Unicode form."""
    import unicodedata

    spelled: dict[str, str] = {}
    found = []
    for path in paths:
        folded = path.casefold()
        if not path.isascii():
            folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        other = spelled.setdefault(folded, path)
        if other != path:
            found.append(path)
    return found


def _paths(root: str) -> Iterator[str]:
    """What lies below `root`, without what programs keep in folders of their own."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = "" if folder == root else os.path.relpath(folder, root)
        yield from (os.path.join(place, name) for name in (*folders, *files))


def _some(names: list[str]) -> str:
    shown = ", ".join(ascii(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
