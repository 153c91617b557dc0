"""`agentm project use-store`: one project to another store of this device.

Its files are copied and compared, then the store before is left with a word of where they went. Every step can be
repeated: what was copied is recognised by its hash, so a run that was cut off is simply run again. Nothing is taken
out of the first store before the second was read once more and agrees.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.command import bind_project
from agentm_kernel.plugin import (
    ABSENT,
    MOVED_TO_STORE,
    SWAP_PROVIDER,
    Checkouts,
    ConcurrentModificationError,
    ConfigError,
    LocatorConflictError,
    Resolution,
    StoreIdentityError,
    binding_keys,
    change_record,
    claim,
    content_hash,
    layout,
    read_or_none,
    read_stamp,
    record_move,
)

if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, Locator, ProjectRecord, StorageBackend

_ROUNDS = 5


@dataclass(frozen=True)
class Move:
    """The files of a project in one store, and where they go in another."""

    source: StorageBackend
    folder: Locator
    target: StorageBackend
    place: Locator

    def files(self) -> list[Locator]:
        """What is to be moved; the record stays, to say where the rest went."""
        record = self.folder.child(layout.PROJECT_RECORD)
        return [info.locator for info in self.source.walk(self.folder) if not info.is_dir and info.locator != record]

    def goes_to(self, file: Locator) -> Locator:
        return self.place.child(*file.parts[len(self.folder.parts) :])

    def check(self) -> int:
        """How many files the target lacks; refused if it has another text under the name of one."""
        missing = 0
        differing = []
        for file in self.files():
            text, held = self.source.read(file), read_or_none(self.target, self.goes_to(file))
            missing += held is None
            if held not in (None, text):
                differing.append(self.goes_to(file).key)
        if differing:
            raise LocatorConflictError(
                f"{self.target.describe()} has other notes under {len(differing)} of the names: {differing[0]} …",
                hint="nothing was written; settle those notes first",
            )
        return missing

    def copy(self) -> dict[Locator, str]:
        """Bring the target up to date until both agree; the files with the hash that was copied."""
        copied: dict[Locator, str] = {}
        for _ in range(_ROUNDS):
            changed = [file for file in self.files() if self._differs(file)]
            if not changed:
                return {file: copied.get(file) or content_hash(self.source.read(file)) for file in self.files()}
            for file in changed:
                text = self.source.read(file)
                self.target.write(self.goes_to(file), text, if_match=copied.get(file, ABSENT))
                copied[file] = content_hash(text)
        raise ConcurrentModificationError(
            f"the notes in {self.folder} change all the time",
            hint="stop the agents that write there, and run it again",
        )

    def _differs(self, file: Locator) -> bool:
        return read_or_none(self.target, self.goes_to(file)) != read_or_none(self.source, file)

    def remove(self, copied: dict[Locator, str]) -> int:
        """Take the files out of the source, each only if it is what was copied; how many are gone."""
        for file, digest in copied.items():
            self.source.delete(file, if_match=digest)
        return len(copied)


class StoreChange:
    """The project at `root` is to be in the store `name`; `None` is the default store."""

    def __init__(self, device: Device, root: str, name: str | None) -> None:
        self._device, self._name = device, name
        bound = device.bound_store(root)
        self.is_done = bound is None and name is None
        # Bound to it already: a run that was cut off, and what is left in the default store is to follow.
        source_name = None if bound == name else bound
        self._target = device.store(name, read_only=False)
        self._source = self._target if self.is_done else device.store(source_name, read_only=False)
        here = Resolution(root, self._target, device=device)
        here.refuse_no_project()
        self._identity = here.identity

    @property
    def slug(self) -> str:
        return self._move.place.name

    @property
    def place(self) -> str:
        return self._target.describe()

    def check(self, *, move: bool) -> int:
        """Claim the project's place in both stores; how many files go, and whether they can, is found out first."""
        self._source.check_allowed(SWAP_PROVIDER)
        self._before = self._claim(self._source)
        after = self._claim(self._target)
        if after.elsewhere is not None:
            change_record(self._target, after, {MOVED_TO_STORE: None})  # it comes back
        self._move = Move(self._source, self._before.folder, self._target, after.folder)
        files = len(self._move.files())
        if files and not move:
            raise ConfigError(
                f"'{self._before.slug}' has {files} files in {self._source.describe()}, which would stay behind",
                hint="add --move to take them along",
            )
        self._move.check()
        return files

    def make(self) -> dict[Locator, str]:
        """Copy, bind the project, and leave word in the store before; what was copied, with its hashes."""
        self._move.copy()
        store_id = read_stamp(self._target)
        if store_id is None:
            raise StoreIdentityError(f"the store at {self.place} has no identity", hint="set it up with its `init`")
        bind_project(self._device.environ, list(binding_keys(self._identity.checkout)), self._name)
        change_record(self._source, self._before, {MOVED_TO_STORE: store_id})
        record_move(self._source, self._move.folder, self._target, self._move.place)
        return self._move.copy()  # once more: somebody may have written there who had not heard of it yet

    def remove(self, copied: dict[Locator, str]) -> int:
        return self._move.remove(copied)

    def state_left(self) -> list[str]:
        """Plans and progress that lie in the checkout, where nobody looks for them once the store has the state."""
        root = self._identity.checkout.root
        if not self._target.capabilities.sync:
            return []
        try:
            return sorted(name for name in os.listdir(os.path.join(root, ".harness")) if name.endswith(".md"))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _claim(self, store: StorageBackend) -> ProjectRecord:
        place = claim(store, self._identity, Checkouts(self._device.state_dir, store))
        assert place.record is not None
        return place.record
