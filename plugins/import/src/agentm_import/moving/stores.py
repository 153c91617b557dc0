"""Moving a whole store from one backend to another: planned, verified by hash, repeatable after any interruption.

There is no journal. What has been copied is recognised by its hash, so a run that was killed is simply run again; and
a target that holds anything else under a note's key is refused before the first byte is written. The source is only
read. The configuration is switched last, in one atomic step, and only when both sides were read once more and agree.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    STAMP_KEY,
    ConcurrentModificationError,
    ConfigError,
    ConflictCopies,
    DeviceCopy,
    InvalidContentError,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    Sealed,
    StorageSelectionError,
    content_hash,
    layout,
    read_or_none,
    record_move,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_kernel.plugin import StorageBackend

    Progress = Callable[[str, Iterable[Locator]], Iterable[Locator]]

_SHOWN = 5
_ROUNDS = 3


@dataclass(frozen=True)
class Plan:
    """What a migration will do. Making one changes nothing."""

    hashes: dict[Locator, str] = field(default_factory=dict)
    """Every note of the source with its content hash."""
    missing: list[Locator] = field(default_factory=list)
    """Notes that the target does not have yet."""
    skipped: list[str] = field(default_factory=list)
    """What is in the source and is not a note: it stays where it is."""
    places: dict[Locator, Locator] = field(default_factory=dict)
    """Notes of a merge that are kept apart, each with its place in the target."""
    kept: set[Locator] = field(default_factory=set)
    """Records of a merge for which the target keeps its own."""
    shared: set[Locator] = field(default_factory=set)
    """Notes of a merge that the target has with the same text: they are its own, too."""
    projects: list[str] = field(default_factory=list)
    """The projects of the source, in a merge."""
    united: list[str] = field(default_factory=list)
    """Projects that both stores have, in a merge."""

    def place(self, locator: Locator) -> Locator:
        """Where a note of the source lies in the target."""
        return self.places.get(locator, locator)


def _notes(store: StorageBackend) -> list[Locator]:
    """Everything but what makes this store the one that it is: its stamp, and the keys of its encryption."""
    files = (info.locator for info in store.walk(Locator()) if not info.is_dir)
    return [file for file in files if file.key != STAMP_KEY and file.parent.key != layout.KEYS]


def send_copy(source: StorageBackend) -> None:
    """Bring into a store elsewhere what agents edited in this device's copy of it since the last event."""
    copy = source.facet(DeviceCopy)
    if copy is not None:
        copy.push(source)


def plan_migration(source: StorageBackend, target: StorageBackend, progress: Progress) -> Plan:
    """Compare the two stores; a target that differs from the source anywhere is refused."""
    refuse_nested(source, target)
    plan = read_source(source, progress)
    differing = []
    for locator in plan.hashes:
        held = hash_at(target, locator)
        if held is None:
            plan.missing.append(locator)
        elif held != plan.hashes[locator]:
            differing.append(locator.key)
    strangers = [
        locator.key for locator in _notes(target) if not (locator in plan.hashes or is_word_of_a_move(locator))
    ]
    if differing or strangers:
        raise LocatorConflictError(
            f"the target {target.describe()} is not a copy of the source: {_listed(differing + strangers)}",
            hint="nothing was written; `--merge` moves into a store that has notes, and overwrites none of them",
        )
    return plan


def is_encrypted(store: StorageBackend) -> bool:
    return bool(store.list(Locator(layout.KEYS)))


def refuse_encrypted(source: StorageBackend, source_name: str, target: StorageBackend, target_name: str) -> None:
    """Refuse where the notes of an encrypted store would lie in plain in another one, or plain ones in an encrypted
    one: the layers around the selected store are not around the other.
    """
    again = f"`agentm migrate --from {source_name} --to {target_name}`"
    if is_encrypted(source):
        raise StorageSelectionError(
            f"the store at {source.describe()} is encrypted, and {target_name} would get its notes in plain",
            hint="make it plain first (`agentm encryption decrypt`, while it is selected); then select "
            f"{target_name}, run `agentm encryption init` and {again}: what comes there is sealed at once",
        )
    if is_encrypted(target) and target.facet(Sealed) is None:
        raise StorageSelectionError(
            f"the store at {target.describe()} is encrypted, and would get the notes of {source_name} in plain",
            hint=f"select {target_name} first (its `init` with --use), run `agentm encryption join`, then {again}",
        )


def refuse_nested(source: StorageBackend, target: StorageBackend) -> None:
    """Refuse where one store lies in a folder of the other: what is copied would be there to be copied again."""
    places = [os.path.realpath(store.describe()) for store in (source, target) if os.path.isabs(store.describe())]
    if len(places) == 2 and places[0] != places[1] and os.path.commonpath(places) in places:
        outer, inner = sorted(places, key=len)
        raise LocatorConflictError(
            f"the store {inner} lies inside the store {outer}",
            hint="nothing was written; move its folder out of there; `agentm config list` shows the setting",
        )


def refuse_conflict_copies(store: StorageBackend, folder: Locator) -> None:
    """Refuse to move the notes below a folder while other versions of them wait beside them."""
    for copy in _conflict_copies(store, folder):
        raise ConfigError(
            f"'{copy}' is a conflict copy, which would be left behind",
            hint="settle conflict copies first; `agentm vault conflicts` lists those of a vault",
        )


def _conflict_copies(store: StorageBackend, folder: Locator) -> list[Locator]:
    copies = store.facet(ConflictCopies)
    return [] if copies is None else [found.copy for found in copies.conflict_copies(folder)]


def read_source(source: StorageBackend, progress: Progress) -> Plan:
    """Every note of the source with its hash, and what is none."""
    notes = _notes(source)
    copies = [copy.key for copy in _conflict_copies(source, Locator()) if copy not in notes]
    plan = Plan(skipped=[*source.foreign_entries(Locator()), *copies])
    for locator in progress("Reading the source", notes):
        try:
            plan.hashes[locator] = content_hash(source.read(locator))
        except InvalidContentError:
            plan.skipped.append(locator.key)
    return plan


def copy_notes(source: StorageBackend, target: StorageBackend, plan: Plan, progress: Progress) -> None:
    """Write what is missing, each note on condition that nobody else has written it meanwhile."""
    for locator in progress("Copying", plan.missing):
        text = source.read(locator)
        try:
            target.write(plan.place(locator), text, if_match=ABSENT)
        except InvalidLocatorError as error:  # a sync tool's copy, say, which the other store would take for its own
            raise InvalidLocatorError(
                error.message,
                hint=f"rename or delete '{locator}' in {source.describe()}, then run the same command again; what "
                "was copied stays, and the configuration was not switched",
            ) from None
        plan.hashes[locator] = content_hash(text)


def leave_word(source: StorageBackend, target: StorageBackend, plan: Plan, begun: int) -> None:
    """Say in the target where its notes came from, so that what they were before is found."""
    for locator, place in plan.places.items():
        record_move(source, locator, target, place, begun)
    record_move(source, Locator(), target, Locator(), begun)


def settle(source: StorageBackend, target: StorageBackend, plan: Plan, progress: Progress) -> None:
    """Read both stores once more and carry over what changed meanwhile; a source that keeps changing is refused."""
    for _ in range(_ROUNDS):
        changed = _differences(source, target, plan, progress)
        if not changed:
            return
        for locator in changed:
            _carry_over(source, target, plan, locator)
    raise ConcurrentModificationError(
        f"the store keeps changing during the migration: {_listed([locator.key for locator in changed])}",
        hint="stop the agents that write to it and run the migration again; the configuration was not switched",
    )


def _differences(source: StorageBackend, target: StorageBackend, plan: Plan, progress: Progress) -> list[Locator]:
    left_behind = set(plan.skipped)
    now = {locator for locator in _notes(source) if locator.key not in left_behind and locator not in plan.kept}
    return [
        locator
        for locator in progress("Verifying", sorted(now | set(plan.hashes)))
        if hash_at(source, locator) != hash_at(target, plan.place(locator))
    ]


def _carry_over(source: StorageBackend, target: StorageBackend, plan: Plan, locator: Locator) -> None:
    """Make the target's copy what the source holds now, provided that it is still the copy that was made."""
    copied = plan.hashes.pop(locator, None)
    text = read_or_none(source, locator)
    if locator in plan.shared:
        if text is not None:
            raise ConcurrentModificationError(
                f"'{locator}', which both stores have, was changed meanwhile",
                hint="run the migration again; the configuration was not switched",
            )
        plan.kept.add(locator)
    elif text is not None:
        target.write(plan.place(locator), text, if_match=ABSENT if copied is None else copied)
        plan.hashes[locator] = content_hash(text)
    elif copied is not None:
        target.delete(plan.place(locator), if_match=copied)


def texts_below(store: StorageBackend, folder: Locator) -> dict[Locator, str]:
    """Every Markdown file below a folder; what is no text is left out."""
    found: dict[Locator, str] = {}
    for info in store.walk(folder):
        if not info.is_dir and info.locator.suffix == ".md":
            with suppress(InvalidContentError, NotFoundError):
                found[info.locator] = store.read(info.locator)
    return found


def hash_at(backend: StorageBackend, locator: Locator) -> str | None:
    """The content hash of what is stored, `None` if nothing is."""
    text = read_or_none(backend, locator)
    return None if text is None else content_hash(text)


def is_word_of_a_move(locator: Locator) -> bool:
    """Whether it says where notes of the target came from: a run that was cut off leaves that too."""
    return locator.key.startswith(f"{layout.MOVES}/")


def _listed(keys: list[str]) -> str:
    shown = ", ".join(sorted(keys)[:_SHOWN])
    return shown if len(keys) <= _SHOWN else f"{shown} and {len(keys) - _SHOWN} more"
