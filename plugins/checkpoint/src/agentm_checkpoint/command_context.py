"""What every command works with: the store, its image and history on this device, and the settings."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_checkpoint.capture import open_image
from agentm_checkpoint.directories import folder_of, store_id
from agentm_checkpoint.guard import below_guard, find_guard
from agentm_checkpoint.guarded import survey_guarded
from agentm_checkpoint.local_state import gather_known
from agentm_checkpoint.lost_stores import explain_loss, unfinished_restore
from agentm_checkpoint.past import older_images
from agentm_checkpoint.reading import read_tree
from agentm_checkpoint.replaced import open_history
from agentm_checkpoint.settings import settings_of
from agentm_checkpoint.texts import agentm_of
from agentm_checkpoint.verifying import verify_image
from agentm_kernel.command import current_device, store_device
from agentm_kernel.plugin import ConfigError, IntegrityError, NotFoundError, StorageSelectionError, find_project_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_checkpoint.history import History
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.local_state import LocalState
    from agentm_checkpoint.settings import Settings
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_kernel.plugin import Device, StorageBackend

Item = TypeVar("Item")


def command_line(words: str) -> str:
    """A command of ours as it is to be typed for the store that the current one is about."""
    return f"`{agentm_of(current_device())} checkpoint {words}`"


class CommandContext:
    """The selected store and what this device keeps for it."""

    def __init__(self, *, read_only: bool = True) -> None:
        self.device: Device = store_device()
        try:
            self.backend: StorageBackend = self.device.store(read_only=read_only)
            """As the configuration has it: what is written goes through here."""
        except StorageSelectionError as error:
            raise explain_loss(error, self.device) from error

    @property
    def guard(self) -> IntegrityGuard | None:
        return find_guard(self.backend)

    @property
    def store(self) -> StorageBackend:
        """For reading: the store below its guard, because a checkpoint records what is there, good or not."""
        return below_guard(self.backend)

    @cached_property
    def settings(self) -> Settings:
        return settings_of(self.device)

    @cached_property
    def image(self) -> Image:
        return open_image(self.store, self.device)

    @cached_property
    def folder(self) -> str:
        """Where this device keeps what belongs to the store."""
        return folder_of(self.device.state_dir, store_id(self.store))

    @cached_property
    def history(self) -> History:
        return open_history(self.store, self.device)

    def find(self, name: str) -> tuple[Snapshot, Image]:
        """The checkpoint that `name` means, also one of a store that the notes came from; and the image it is in."""
        try:
            return self.image.find_certain(name), self.image
        except NotFoundError:
            for image in older_images(self.backend, self.device):
                if sum(shot.id.startswith(name) for shot in image.snapshots) == 1:
                    return image.find(name), image
            raise

    def local_state(self) -> LocalState | None:
        """What the checkouts of this device hold besides the store."""
        try:
            root = find_project_root()
        except ConfigError:
            root = os.getcwd()  # a `.harness` that is a link, say: it is not followed, and named as left out
        return gather_known(self.folder, root, self.history.head())

    def report_damage(self) -> None:
        """Say that the image is not what it was; what is usable of it is used all the same."""
        unfinished = unfinished_restore(self.folder)
        if unfinished is not None:
            way = command_line(f"restore {unfinished}")
            click.echo(f"warning: bringing this store back was interrupted; finish it: {way}", err=True)
        if self.image.damage:
            last = verify_image(self.image).last_whole
            rest = f"the last complete checkpoint is {last.id}" if last else "it holds no complete checkpoint"
            click.echo(f"warning: {self.image.damage}; {rest}", err=True)

    def guarded_problems(self) -> dict[str, str] | None:
        """What is wrong with guarded notes, by key; `None` without a guard."""
        return survey_guarded(self.guard).problems if self.guard is not None else None

    def newest_known_good(self, key: str) -> Snapshot | None:
        """The newest checkpoint that has a guarded note as it is known to be good."""
        wanted = self.guard.record.read().leaf(key) if self.guard is not None else None
        for snapshot in reversed(self.image.snapshots if wanted is not None else []):
            try:
                if read_tree(snapshot.root, self.image.fetch).get(key) == wanted:
                    return snapshot
            except IntegrityError:
                continue  # `verify` says so; an older one may be whole
        return None


def fields_of(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot for people and programs."""
    return {
        "id": snapshot.id,
        "root": snapshot.root_id,
        "parent": snapshot.parent,
        "store": snapshot.store,
        "time": snapshot.time,
        "author": snapshot.author,
        "reason": snapshot.reason,
        "automatic": snapshot.automatic,
        "notes": snapshot.root.notes,
        "bytes": snapshot.root.size,
    }


def bar(label: str, items: Iterable[Item]) -> Iterator[Item]:
    """The items with a progress bar, where somebody is looking."""
    with click.progressbar(list(items), label=label, file=sys.stderr, hidden=not sys.stderr.isatty()) as progress:
        yield from progress


def silent(_label: str, items: Iterable[Item]) -> Iterable[Item]:
    return items


def is_at_terminal() -> bool:
    return sys.stdin.isatty()
