"""`agentm checkpoint restore --into-new`: a store that is gone comes back, with the identity that it had."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import open_image_of
from agentm_checkpoint.command_context import CommandContext, bar, silent
from agentm_checkpoint.command_ipfs import fetch_from, keep_pulled
from agentm_checkpoint.command_restore import check_guarded, report
from agentm_checkpoint.directories import folder_of
from agentm_checkpoint.known_good import Record
from agentm_checkpoint.lost_stores import begin_restore, find_image, finish_restore, is_marked
from agentm_checkpoint.reading import read_note
from agentm_checkpoint.restoring import Step, apply_restore, check_contents
from agentm_checkpoint.texts import counted
from agentm_checkpoint.verifying import verified_leaves
from agentm_kernel.command import confirm, store_device
from agentm_kernel.plugin import (
    ABSENT,
    Locator,
    StorageError,
    StoreIdentityError,
    decode_content,
    layout,
    open_unidentified,
    read_or_none,
    return_identity,
)

if TYPE_CHECKING:
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_kernel.plugin import Device, StorageBackend, UnidentifiedStore


def restore_into_new(
    name: str, source: str, store: str | None, url: str | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Fill the empty or missing store that is selected from a checkpoint, and give it back whose store it was.

    Everything is verified before anything is made. The store is known again before its notes are written, so that
    they pass every rule of the configuration; until the last one is there, commands say that it is not complete.
    """
    device = store_device()
    target = open_unidentified(device)
    _check_gone(target.backend)
    image, snapshot = _find(device, target, name, source, store, url, as_json)
    _check_known(target, snapshot)
    wanted = verified_leaves(image, snapshot)
    steps = [Step(key, None, leaf) for key, leaf in sorted(wanted.items())]
    check_contents(steps, image.fetch)
    check_guarded(Record(folder_of(device.state_dir, snapshot.store)), device, steps)
    if dry_run:
        report(snapshot, steps, None, dry_run=True, as_json=as_json)
        return
    place = target.backend.describe()
    confirm(f"Fill {place} with {counted(len(steps), 'file')} of {snapshot.when}?", yes=yes)
    target.backend.make_place()
    _check_empty(target.backend)
    begin_restore(device, snapshot.store, snapshot.id)
    kept = _bring_keys(target.backend, steps, image)
    return_identity(device, target, snapshot.store)
    here = CommandContext(read_only=False)
    with here.guard.operator() if here.guard is not None else nullcontext():
        apply_restore(here.backend, kept, image.fetch, silent if as_json else bar)
    finish_restore(here.folder)
    report(snapshot, steps, None, dry_run=False, as_json=as_json)
    if not as_json:
        click.echo(f"the store at {place} is store {snapshot.store} again")


def _bring_keys(backend: StorageBackend, steps: list[Step], image: Image) -> list[Step]:
    """Write the keys of encryption, if the store had any, below every layer: without them, none of its layers opens a
    note. What is left to be done. Before the store is known again: who is cut off here begins anew.
    """
    for step in steps:
        if step.wanted is not None and _is_of_keys(step.key):
            text = decode_content(read_note(step.wanted, image.fetch), Locator(step.key))
            if read_or_none(backend, Locator(step.key)) != text:
                backend.write(Locator(step.key), text, if_match=ABSENT)
    return [step for step in steps if not _is_of_keys(step.key)]


def _is_of_keys(key: str) -> bool:
    return key.startswith(f"{layout.KEYS}/")


def _find(
    device: Device,
    target: UnidentifiedStore,
    name: str,
    source: str,
    store: str | None,
    url: str | None,
    as_json: bool,
) -> tuple[Image, Snapshot]:
    if source == "local":
        return find_image(device, name, store or (target.known if name.startswith("latest") else None))
    snapshot, blocks = fetch_from(device, name, url, as_json)
    image = open_image_of(snapshot.store, device)
    keep_pulled(image, snapshot, blocks)
    return image, snapshot


def _check_gone(backend: StorageBackend) -> None:
    """A store that is there is refused at once. What cannot be read is looked at again once its place is made."""
    try:
        is_there = is_marked(backend)
    except StorageError:
        return
    if is_there:
        raise StoreIdentityError(
            f"there is a store at {backend.describe()}",
            hint="`agentm checkpoint restore ID`, without --into-new, brings it back to a checkpoint",
        )


def _check_known(target: UnidentifiedStore, snapshot: Snapshot) -> None:
    if target.known not in (None, snapshot.store):
        raise StoreIdentityError(
            f"this device knows store {target.known} at {target.backend.describe()}, and the checkpoint is of "
            f"{snapshot.store}",
            hint="select an empty place for it first; or, if the store there is gone for good, `agentm store forget`",
        )


def _check_empty(backend: StorageBackend) -> None:
    place = backend.describe()
    _check_gone(backend)
    found = (info.locator for info in backend.walk(Locator()) if not info.is_dir)
    note = next((locator for locator in found if not _is_of_keys(locator.key)), None)
    if note is not None:
        raise StoreIdentityError(
            f"{place} is not empty: '{note}' is there", hint="move what is there away, and run it again"
        )
