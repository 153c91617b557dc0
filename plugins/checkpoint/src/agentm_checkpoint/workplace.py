"""What every command works with: the store, its image on this device, and the settings."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_checkpoint.capture import open_image
from agentm_checkpoint.guard import below_guard, find_guard
from agentm_checkpoint.guarded import survey_guarded
from agentm_checkpoint.reading import read_tree
from agentm_checkpoint.settings import settings_of
from agentm_kernel.command import current_device
from agentm_kernel.plugin import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.settings import Settings
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_kernel.plugin import StorageBackend

Item = TypeVar("Item")


class Workplace:
    """The selected store and what this device keeps for it."""

    def __init__(self, *, read_only: bool = True) -> None:
        self.device = current_device()
        self.backend: StorageBackend = self.device.store(read_only=read_only)
        """As the configuration has it: what is written goes through here."""

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
        return open_image(self.store, self.device.state_dir)

    def report_damage(self) -> None:
        """Say that the image is not what it was; what is usable of it is used all the same."""
        if self.image.damage:
            last = self.image.latest()
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
