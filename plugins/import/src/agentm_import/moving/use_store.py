"""`agentm project use-store`: one project to another store of this device.

Its files are copied and compared, then the store before is left with a word of where they went. Every step can be
repeated: what was copied is recognised by its hash, so a run that was cut off is simply run again. Nothing is taken
out of the first store before the second was read once more and agrees.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING

from agentm_import.moving.stores import refuse_conflict_copies, refuse_nested, send_copy
from agentm_kernel.command import bind_project, counted
from agentm_kernel.plugin import (
    ABSENT,
    HARNESS_DIR,
    MOVED_TO_STORE,
    SWAP_PROVIDER,
    AgentmError,
    Checkout,
    Checkouts,
    ConcurrentModificationError,
    ConfigError,
    EditedFolder,
    FileStore,
    Locator,
    LocatorConflictError,
    Resolution,
    StoreIdentityError,
    add_remote,
    binding_keys,
    change_record,
    claim,
    content_hash,
    find_place,
    hide_from_git,
    layout,
    read_or_none,
    read_pointer,
    read_record,
    read_stamp,
    record_move,
    refuse_secrets,
)

if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, ProjectRecord, StorageBackend

_ROUNDS = 5


@dataclass(frozen=True)
class Move:
    """The files of a project in one store, and where they go in another."""

    source: StorageBackend
    folder: Locator
    target: StorageBackend
    place: Locator
    with_state: bool = True
    """Whether plans are among them; where one store keeps state and the other does not, they go another way."""
    written: dict[Locator, str] = field(default_factory=dict)
    """The hash of what was copied of each file, which is ours to bring up to date."""

    def files(self) -> list[Locator]:
        """What is to be moved; the record stays, to say where the rest went."""
        record, state = self.folder.child(layout.PROJECT_RECORD), self.folder.child(layout.HARNESS)
        found = [info.locator for info in self.source.walk(self.folder) if not info.is_dir]
        return [file for file in found if file != record and (self.with_state or file.parent != state)]

    def goes_to(self, file: Locator) -> Locator:
        return self.place.child(*file.parts[len(self.folder.parts) :])

    def check(self) -> None:
        """Refuse if the target has another text under the name of a file."""
        differing = [
            self.goes_to(file).key
            for file in self.files()
            if read_or_none(self.target, self.goes_to(file)) not in (None, self.source.read(file))
        ]
        if differing:
            raise LocatorConflictError(
                f"{self.target.describe()} has other texts under {len(differing)} of the names: {differing[0]} …",
                hint="nothing was written; settle those first",
            )

    def copy(self) -> dict[Locator, str]:
        """Bring the target up to date until both agree; the files with the hash of what was found in both."""
        for _ in range(_ROUNDS):
            agreed: dict[Locator, str] = {}
            is_changed = False
            for file in self.files():
                text = read_or_none(self.source, file)
                if text is None:
                    continue  # somebody removed it just now
                agreed[file] = content_hash(text)
                if read_or_none(self.target, self.goes_to(file)) != text:
                    self.target.write(self.goes_to(file), text, if_match=self.written.get(file, ABSENT))
                    self.written[file] = agreed[file]
                    is_changed = True
            if not is_changed:
                return agreed
        raise ConcurrentModificationError(
            f"the files in {self.folder} change all the time",
            hint="stop the agents that write there, and run it again",
        )

    def remove(self, copied: dict[Locator, str]) -> int:
        """Take the files out of the source, each only if it is what was copied; how many are gone."""
        for file, digest in copied.items():
            self.source.delete(file, if_match=digest)
        return len(copied)


class StateMove(Move):
    """Plans and progress between `.harness/` of a checkout and the folder of a store that keeps state."""

    @property
    def is_into_store(self) -> bool:
        return not self.folder.parts

    def files(self) -> list[Locator]:
        """In a checkout, what is no Markdown belongs to other programs, or says something about the checkout."""
        children = [file for file in self.source.list(self.folder) if not self.source.info(file).is_dir]
        return [file for file in children if file.suffix == ".md" or not self.is_into_store]

    def check(self) -> None:
        super().check()
        for file in self.files() if self.is_into_store else ():  # agents wrote them by other means than ours
            refuse_secrets(file.name, self.source.read(file))


class CloneOf(Checkout):
    """A checkout as if its remote were still one that its project is known by; the project keeps its name."""

    def __init__(self, checkout: Checkout, remote: str, slug: str) -> None:
        super().__init__(checkout.root, slug)
        self._remote = remote

    @property
    def remote(self) -> str:
        return self._remote


class StoreChange:
    """The project at `root` is to be in the store `name`; `None` is the default store."""

    def __init__(self, device: Device, root: str, name: str | None) -> None:
        self._device, self._name, self._root = device, name, root
        self._target = device.store(name, read_only=False)
        here = Resolution(root, self._target, device=device)
        here.refuse_no_project()
        self._identity = here.identity
        bound = device.bound_store(root)
        source = device.store(bound, read_only=False) if bound != name else self._left_behind()
        self.is_done = source is None and name is None
        self._source = source or (self._target if self.is_done else device.store(read_only=False))
        self._copied: list[tuple[Move, dict[Locator, str]]] = []

    @property
    def place(self) -> str:
        return self._target.describe()

    def check(self, *, move: bool) -> None:
        """Find out what goes where, and whether it can. Only reads."""
        self._source.check_allowed(SWAP_PROVIDER)
        self._refuse_one_store()
        refuse_nested(self._source, self._target)
        before = find_place(self._source, self._identity, self._checkouts(self._source))
        self._remotes = before.record.remotes if before.record else ()
        after = find_place(self._target, self._identity_there(before.slug), self._checkouts(self._target))
        if move:
            refuse_conflict_copies(self._source, before.folder)
        self.slug_before, self.slug = before.slug, after.slug
        self._plan(before.folder, after.folder)
        self.state = [file.name for file in self._state.files()] if self._state else []
        self.is_state_moved = move and bool(self.state)
        is_plan_there = self._state is not None and not self._state.is_into_store
        count = len(self._notes.files()) + len(self.state) * (self.is_state_moved or is_plan_there)
        if count and not move:
            raise ConfigError(
                f"'{before.slug}' has {counted(count, 'file')} in {self._source.describe()}, which would stay behind",
                hint="add --move to take them along",
            )
        self.count = count
        for each in self._moves():
            each.check()

    def plan(self) -> list[str]:
        """What is worth knowing before it happens."""
        lines = []
        if self.slug != self.slug_before:
            is_taken = read_record(self._target, self.slug_before) is not None
            why = "is another project's" if is_taken else "is its name in the store before"
            lines.append(f"its name there is '{self.slug}': '{self.slug_before}' {why}")
        for remote in self._remotes:
            if (other := self._name_there(remote)) not in (None, self.slug):
                merge = f"agentm --store {self._name or 'default'} project merge {quote(other)} {quote(self.slug)}"
                lines.append(f"{remote} is '{other}' there: `{merge}` brings the two together")
        if self.is_state_moved and self._state:
            way = "from .harness/ into the store" if self._state.is_into_store else "from the store into .harness/"
            lines.append(f"{', '.join(self.state)}: {way}, where state belongs then")
        return lines

    def make(self) -> int:
        """Copy, bind the project, and leave word in the store before; how many files were copied."""
        send_copy(self._source)
        before = self._claim(self._source, self._identity)
        self._remotes = before.remotes
        after = self._claim(self._target, self._identity_there(before.slug))
        self._refuse_one_store()  # a store that was empty has its identity only now
        if after.elsewhere is not None:
            change_record(self._target, after, {MOVED_TO_STORE: None})  # it comes back
        for remote in before.remotes:
            if self._name_there(remote) is None:  # clones with that one are to find the notes, too
                after = add_remote(self._target, after, remote)
        self._plan(before.folder, after.folder)
        self.slug = after.slug
        self._copy()
        store_id = read_stamp(self._target)
        if store_id is None:
            raise StoreIdentityError(f"the store at {self.place} has no identity", hint="set it up with its `init`")
        # The word first: who is cut off here is refused in the store before, and not told that all is done.
        change_record(self._source, before, {MOVED_TO_STORE: store_id})
        bind_project(self._device.environ, list(binding_keys(self._identity)), self._name)
        record_move(self._source, self._notes.folder, self._target, self._notes.place)
        return self._copy()  # once more: somebody may have written there who had not heard of it yet

    def remove(self) -> int:
        """Take out of the store before, and of the checkout, what was copied; how many files are gone."""
        return sum(move.remove(copied) for move, copied in self._copied)

    def _refuse_one_store(self) -> None:
        """Two names, or two clones, of one store: what is removed here is gone there."""
        if read_stamp(self._source) == read_stamp(self._target) is not None:
            raise ConfigError(
                f"{self.place} is the store that the project is in, under another name; nothing was changed",
                hint="`agentm store list` shows where each store lies",
            )

    def _copy(self) -> int:
        self._copied = [(move, move.copy()) for move in self._moves()]
        hide_from_git(self._root)
        return sum(len(copied) for _, copied in self._copied)

    def _moves(self) -> list[Move]:
        return [self._notes, self._state] if self.is_state_moved and self._state else [self._notes]

    def _plan(self, before: Locator, after: Locator) -> None:
        """Notes go from folder to folder. State lies in the checkout unless the store synchronises it."""
        keeps, kept = self._target.capabilities.sync, self._source.capabilities.sync
        is_apart = keeps != kept and self._device.project(self._root).backend is not None  # none: state is local
        self._notes = Move(self._source, before, self._target, after, with_state=not is_apart)
        checkout = FileStore(os.path.join(self._root, HARNESS_DIR), medium=EditedFolder(), create_root=True)
        self._state: StateMove | None = None
        if is_apart and keeps:
            self._state = StateMove(checkout, Locator(), self._target, after.child(layout.HARNESS))
        elif is_apart:
            self._state = StateMove(self._source, before.child(layout.HARNESS), checkout, Locator())

    def _left_behind(self) -> StorageBackend | None:
        """The store that the project has left for this one, where files of it still are: a run was cut off."""
        store_id = read_stamp(self._target)
        for name in (None, *self._device.config.stores):
            try:
                store = self._target if name == self._name else self._device.store(name, read_only=False)
                place = find_place(store, self._identity, self._checkouts(store))
            except AgentmError:
                continue  # it cannot be had now, or knows nothing of this project
            is_left = store_id is not None and place.record is not None and place.record.elsewhere == store_id
            if store is not self._target and is_left and Move(store, place.folder, store, place.folder).files():
                return store
        return None

    def _identity_there(self, slug: str) -> Checkout:
        """The checkout as the target is to know it: as a clone of what its project is in the store before, whatever
        its own remote is by now, and of what the target has a project of rather than of anything new.
        """
        own = self._identity.remote
        remotes = sorted(self._remotes, key=lambda remote: remote != own)
        if not remotes:
            return self._identity
        known = next((remote for remote in remotes if self._name_there(remote)), remotes[0])
        return self._identity if known == own else CloneOf(self._identity, known, slug)

    def _name_there(self, remote: str) -> str | None:
        """What the project of a repository is called in the target."""
        slug = read_pointer(self._target, remote)
        record = read_record(self._target, slug) if slug else None
        return record.slug if record else None

    def _checkouts(self, store: StorageBackend) -> Checkouts:
        return Checkouts(self._device.state_dir, store)

    def _claim(self, store: StorageBackend, project: Checkout) -> ProjectRecord:
        place = claim(store, project, self._checkouts(store))
        assert place.record is not None
        return place.record
