"""Settling a conflict: one version becomes the note, the other is kept in `_meta/conflicts/`, never deleted.

All of it happens under the store's mutex and with conditional writes: what changes meanwhile is an error, and the
conflict stays. The copy goes last, so a crash leaves a version twice and never once too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    LocatorConflictError,
    NotFoundError,
    StorageConflictError,
    content_hash,
    store_mutex,
)
from agentm_obsidian_vault.kept import KEPT, place_for
from agentm_obsidian_vault.merge import is_append_only, is_version, union
from agentm_obsidian_vault.survey import BY_TEXT, raw_files

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend
    from agentm_obsidian_vault.backend import VaultBackend
    from agentm_obsidian_vault.survey import Conflict

MINE, THEIRS, BOTH, UNION = "mine", "theirs", "both", "union"
"""The note as it is; the copy instead of it; each as a note of its own; the lines of both."""


@dataclass(frozen=True)
class Versions:
    """The two texts of a conflict."""

    mine: str | None
    """The note; `None` if it is gone."""
    theirs: str


def read_versions(vault: VaultBackend, conflict: Conflict) -> Versions:
    theirs = raw_files(vault).read(conflict.copy.locator)
    try:
        return Versions(vault.read(conflict.base), theirs)
    except (NotFoundError, StorageConflictError):
        return Versions(None, theirs)


def check_union(conflict: Conflict) -> None:
    """Refuse to merge by rule what only a person can merge, and what nothing shows to be one note."""
    if conflict.is_suspect:
        raise suspect(conflict)
    if conflict.is_plan:
        raise LocatorConflictError(
            f"'{conflict.base}' is a plan, and plans are not merged by a rule",
            hint="look at both versions: `agentm vault resolve` on a terminal, or `--take mine`, `theirs` or `both`",
        )
    if not is_append_only(conflict.base.name):
        raise LocatorConflictError(
            f"'{conflict.base}' is not a file that only grows, so the union of two versions may make no sense",
            hint="choose with `agentm vault resolve` on a terminal, or `--take mine`, `theirs` or `both`",
        )


def suspect(conflict: Conflict) -> LocatorConflictError:
    return LocatorConflictError(
        f"'{conflict.copy.locator}' has a name like a copy of '{conflict.base}', but its text does not show that",
        hint="it is a note of its own; if you know better, run `agentm vault resolve NAME` on a terminal",
    )


def settle(store: StorageBackend, vault: VaultBackend, conflict: Conflict, choice: str) -> str:
    """Do what was chosen, through `store`, the vault with its guards; returns what happened, in words."""
    if choice == UNION:
        check_union(conflict)
    with store_mutex(vault.describe()):
        versions = read_versions(vault, conflict)
        if conflict.by == BY_TEXT and not is_version(versions.mine or "", versions.theirs):
            raise ConcurrentModificationError(
                f"'{conflict.copy.locator}' has changed and is a note of its own now", hint="run the command again"
            )
        outcome = _settle(store, conflict.base, versions, choice)
        raw_files(vault).delete(conflict.copy.locator, if_match=content_hash(versions.theirs))
    return outcome


def _settle(store: StorageBackend, note: Locator, versions: Versions, choice: str) -> str:
    mine, theirs = versions.mine, versions.theirs
    if mine is None:
        store.write(note, theirs, if_match=ABSENT)
        return f"'{note}' was gone and is back, from its copy"
    if mine == theirs:
        return f"'{note}' has the same content already"
    if choice == BOTH:
        beside = _put(store, _place_beside(note, theirs), theirs)
        return f"'{note}' stays as it is; the other version is now the note '{beside}'"
    place = _keep(store, note, mine if choice == THEIRS else theirs)
    if choice == MINE:
        return f"'{note}' stays as it is; the other version is kept as {place}"
    store.write(note, theirs if choice == THEIRS else union(mine, theirs), if_match=content_hash(mine))
    if choice == THEIRS:
        return f"'{note}' has the copy's content; what it had is kept as {place}"
    return f"'{note}' has the lines of both; the other version is kept as {place}"


def _keep(store: StorageBackend, note: Locator, text: str) -> Locator:
    return _put(store, place_for(note, content_hash(text), KEPT), text)


def _put(store: StorageBackend, place: Locator, text: str) -> Locator:
    try:
        return store.write(place, text, if_match=ABSENT)
    except ConcurrentModificationError:
        if store.read(place) != text:
            raise
        return place  # from a run that was cut off, or the same version lost twice within a second


def _place_beside(note: Locator, text: str) -> Locator:
    """A name for the second note that no sync tool gives to conflict copies."""
    stem = note.name.removesuffix(note.suffix)
    return note.parent.child(f"{stem} - other version {content_hash(text)[:8]}{note.suffix}")
