"""`agentm encryption`: encrypt the store of this device, let others in and out, and make it plain again."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import click

from agentm_encryption import command_members
from agentm_encryption.command_context import (
    bar,
    identity_option,
    key_fields,
    name_option,
    recovery_maker,
    recovery_options,
    refuse_left,
    say_keys,
    say_left,
)
from agentm_encryption.command_status import status, try_recovery
from agentm_encryption.journal import DECRYPT, INIT, Journal
from agentm_encryption.key_source import newest_epoch
from agentm_encryption.membership import device_name, found_keys, next_keys, replace_keys, retired_keys
from agentm_encryption.opening import refuse_shared_folder
from agentm_encryption.places import KEYS, epoch_of, key_file, retired_folder
from agentm_encryption.rewriting import drop_leftovers, open_all, open_late, plain_hashes, reseal_all, seal_all
from agentm_encryption.selected import SelectedStore
from agentm_encryption.survey import conflicts, note_locators, refuse_sealed
from agentm_encryption.unsent import fetch_state, send_state, send_to_plain
from agentm_kernel.command import answering, confirm, counted, shown, store_device
from agentm_kernel.plugin import (
    ABSENT,
    SWAP_PROVIDER,
    AgentmError,
    ConcurrentModificationError,
    ConflictCopies,
    Locator,
    StorageSelectionError,
    adopt_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_encryption.key_source import KeySource
    from agentm_encryption.store import EncryptedStore
    from agentm_kernel.plugin import Device, StorageBackend


@click.group("encryption")
def command() -> None:
    """Encrypt the notes of a store on this device, before the store sees them."""


command.add_command(status)
command.add_command(command_members.join)
command.add_command(command_members.admit)
command.add_command(command_members.recover)
command.add_command(command_members.show)
command.add_command(command_members.accept)


# ------------------------------------------------------------------------------------------------ init


@command.command("init")
@recovery_options
@identity_option
@name_option
@click.option(
    "--names",
    type=click.Choice(["clear", "sealed"]),
    default="clear",
    help="Whether the names of notes and folders are sealed too (a new store only; needs the extra `names`).",
)
@click.option("--adopt", is_flag=True, help="Also encrypt plain notes that came or changed since `init` was begun.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answering
def init(
    recovery: str | None,
    recovery_file: str | None,
    way: str,
    name: str | None,
    names: str,
    adopt: bool,
    yes: bool,
    answer: dict[str, object],
) -> None:
    """Encrypt the store of this device, and every note in it.

    A recovery key is needed: without one, a lost device is a lost memory. Interrupted, run it again to go on.
    """
    device = store_device()
    store = SelectedStore(device)
    backend = store.backend
    refuse_shared_folder(backend)
    if not newest_epoch(backend):
        make_recovery = recovery_maker(recovery, recovery_file)
        _begin(store, make_recovery, way, name, sealed_names=names == "sealed", yes=yes)
    elif recovery or recovery_file:
        _check_recovery(store, recovery, recovery_file)
    source = store.source()
    source.check_pinned(newest_epoch(backend))
    encrypted = store.encrypted(source)
    journal = Journal(source.folder)
    if adopt:
        confirm("Encrypt every plain note of the store as one of ours, whoever wrote it?", yes=yes)
        journal.begin(INIT, plain_hashes(encrypted, bar))
    store.configure()
    outcome = seal_all(encrypted, journal.hashes, bar)
    _forget_index(device, source)
    left = drop_leftovers(backend)
    if outcome.left:
        refuse_left(outcome.left, "the store is not all encrypted", "look at them, then run it with --adopt")
    journal.end()
    fetch_state(device)
    stays_plain = _what_stays_plain(device, store, source)
    answer.update(place=backend.describe(), sealed=outcome.changed, **key_fields(encrypted.keys))
    answer.update(no_text=list(outcome.no_text), left=list(left), stays_readable=stays_plain)
    click.echo(f"the store at {backend.describe()} is encrypted; {_files(outcome.changed)} sealed")
    say_keys(encrypted.keys)
    for key in outcome.no_text:
        click.echo(shown(f"not encrypted, because it is no text: {key}"), err=True)
    say_left(left)
    for line in stays_plain:
        click.echo(line)
    if recovery_file:
        click.echo(f"take the recovery key off this device: {recovery_file}")


def _begin(
    store: SelectedStore,
    make_recovery: Callable[[], str] | None,
    way: str,
    name: str | None,
    *,
    sealed_names: bool,
    yes: bool,
) -> None:
    """Make the first keys. The plain notes that are there now, and no others, are what will be sealed."""
    backend = store.backend
    if make_recovery is None:
        raise AgentmError(
            "a store is encrypted only with a recovery key: without one, a lost device is a lost memory",
            hint="add --recovery-file FILE to make one, or --recovery age1… to name one that you have",
        )
    _check_may_be_encrypted(store)
    notes = note_locators(backend)
    if sealed_names:
        from agentm_encryption.names import cipher_of

        cipher_of(bytes(64))  # is the extra installed?
        if notes:
            raise AgentmError(
                "names can be sealed in a new store only: folders that are there would keep theirs",
                hint="make an empty store, encrypt it, and `agentm migrate` the notes into it",
            )
    confirm(f"Encrypt the store at {backend.describe()} ({counted(len(notes), 'file')})?", yes=yes)
    recovery = make_recovery()
    adopt_store(store.device, backend, store.protocol)
    send_state(store.device)
    source = store.source()
    if source.pins:
        source.check_pinned(0)  # this device knows keys of this store: they are gone, and are not made anew
    source.identity.make(way)
    source.seen.forget()
    Journal(source.folder).begin(INIT, plain_hashes(store.encrypted(source), bar))
    found_keys(source, backend, recovery, name or device_name(), sealed_names=sealed_names)


def _check_recovery(store: SelectedStore, recovery: str | None, recovery_file: str | None) -> None:
    """To go on with the very words that it was begun with changes no recovery key; anything else would."""
    source = store.source()
    hint = "`agentm encryption rotate` changes it"
    if Journal(source.folder).work == INIT:
        encrypted = store.encrypted(source)
        if recovery in {member.recipient for member in encrypted.keys.recipients}:
            return
        if recovery_file and os.path.exists(recovery_file) and try_recovery(store, encrypted, recovery_file):
            return
        hint = "it is not all encrypted yet: `agentm encryption init` without another recovery key goes on"
    raise AgentmError("this store is encrypted already, and has a recovery key", hint=hint)


def _check_may_be_encrypted(store: SelectedStore) -> None:
    found = store.backend.facet(ConflictCopies)
    copies = [] if found is None else found.conflict_copies(Locator())
    if copies:
        raise AgentmError(
            f"there are conflict copies, of '{copies[0].note}' for one, which would stay readable",
            hint=f"settle them first: `agentm {store.protocol} conflicts`",
        )
    store.backend.check_allowed(SWAP_PROVIDER)


def _forget_index(device: Device, source: KeySource) -> None:
    """The index is derived from the notes. That of plain ones is readable, that of sealed ones of no use to plain."""
    shutil.rmtree(os.path.join(device.cache_dir, "stores", source.store_id), ignore_errors=True)


def _what_stays_plain(device: Device, store: SelectedStore, source: KeySource) -> list[str]:
    """What was written before is elsewhere too, and is not ours to delete."""
    lines = []
    folder = os.path.join(device.state_dir, "checkpoints", source.store_id)
    if os.path.isdir(folder):
        lines.append(f"older checkpoints and versions stay readable in {folder}; delete it if they should not")
    if store.protocol == "git":
        lines.append("earlier commits stay readable in git, here and at its remote")
    return lines


# ------------------------------------------------------------------------------------------------ rotate


@command.command("rotate")
@click.option("--remove", multiple=True, metavar="NAME", help="A member who gets no new keys; may be repeated.")
@recovery_options
@click.option("--leave-unreadable", is_flag=True, help="Finish although some notes cannot be opened.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answering
def rotate(
    remove: tuple[str, ...],
    recovery: str | None,
    recovery_file: str | None,
    leave_unreadable: bool,
    yes: bool,
    answer: dict[str, object],
) -> None:
    """Make new keys, and encrypt every note with them: when a member leaves, or a device is lost.

    Who leaves keeps what they could read so far. Interrupted, run it again to go on.
    """
    store = SelectedStore(store_device())
    encrypted = store.joined()
    keys = encrypted.keys
    if keys.oldest == keys.current.number:
        make_recovery = recovery_maker(recovery, recovery_file)
        confirm("Make new keys? Every other device has to confirm their fingerprint.", yes=yes)
        _make_next(store, encrypted, remove, None if make_recovery is None else make_recovery())
    elif remove or recovery or recovery_file:
        raise AgentmError(
            f"the change to the keys of epoch {keys.current.number} is not finished",
            hint="run `agentm encryption rotate` without options first",
        )
    outcome = reseal_all(encrypted, bar)
    if outcome.left and not leave_unreadable:
        refuse_left(
            outcome.left,
            "the old keys stay in use",
            "settle them, or add --leave-unreadable; then run `agentm encryption rotate` again",
        )
    answer.update(encrypted=outcome.changed, left=dict(outcome.left), **key_fields(encrypted.keys))
    _finish(store.backend, encrypted)
    click.echo(f"{_files(outcome.changed)} encrypted with new keys; the old ones are over")
    say_keys(encrypted.keys)
    click.echo("tell the other members this fingerprint: they run `agentm encryption join`")


def _make_next(
    store: SelectedStore, encrypted: EncryptedStore, remove: tuple[str, ...], recovery: str | None
) -> None:
    source = encrypted.source
    own = source.identity.recipient
    assert own is not None
    new = next_keys(encrypted.keys, own, remove, recovery)
    from agentm_encryption.epochs import seal_keys

    source.pins.announce(new.current.number, new.fingerprint)
    try:
        store.backend.write(key_file(new.current.number), seal_keys(new), if_match=ABSENT)
    except ConcurrentModificationError:
        raise StorageSelectionError(
            "another device makes new keys at the same time", hint="run `agentm encryption join`"
        ) from None
    source.pins.add(new.current.number, new.fingerprint, sealed_names=new.names_key is not None)
    source.reload()


def _finish(backend: StorageBackend, encrypted: EncryptedStore) -> None:
    """End the epochs before this one, and see to what a writer brought that had not noticed."""
    keys = encrypted.keys
    replace_keys(backend, backend.read(key_file(keys.current.number)), keys.replaced(oldest=keys.current.number))
    encrypted.source.pins.raise_oldest(keys.current.number)
    reseal_all(encrypted)


# ------------------------------------------------------------------------------------------------ decrypt


@command.command("decrypt")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answering
def decrypt(yes: bool, answer: dict[str, object]) -> None:
    """Make the store plain again: every note, for everybody who can read the store.

    Interrupted, run it again to go on. On the other devices, it sends what they had not sent, and they use it plain.
    Here, run again, it does the same to notes that they sealed before they heard of it.
    """
    device = store_device()
    store = SelectedStore(device)
    source = store.source()
    journal = Journal(source.folder)
    if newest_epoch(store.backend):
        encrypted = store.joined()
        _refuse_sealed_copies(encrypted)
        if journal.work != DECRYPT:
            confirm(f"Write every note of the store at {store.backend.describe()} in plain?", yes=yes)
            send_state(device)
            journal.begin(DECRYPT)
        outcome = open_all(encrypted, store.backend, bar)
        if outcome.left:
            refuse_left(
                outcome.left,
                "the store stays encrypted",
                "settle them (`agentm encryption status`), then run `agentm encryption decrypt` again",
            )
        store.unconfigure()
        _retire_keys(store.backend, source)
        changed = outcome.changed
    elif journal.work == DECRYPT:
        store.unconfigure()
        changed = 0
    elif source.pins:
        refuse_sealed(store.backend)
        confirm(f"The keys of {store.backend.describe()} are gone: has another device made it plain?", yes=yes)
        send_to_plain(store, source)
        store.unconfigure()
        changed = 0
    else:
        keys = retired_keys(source)
        changed = open_late(store.backend, keys) if keys is not None else 0
        if not changed:
            raise AgentmError(f"the store at {store.backend.describe()} is not encrypted")
    source.pins.forget()
    source.seen.forget()
    _forget_index(device, source)
    journal.end()
    shutil.rmtree(os.path.join(source.folder, "state"), ignore_errors=True)
    answer.update(place=store.backend.describe(), decrypted=changed)
    click.echo(f"the store at {store.backend.describe()} is plain; {_files(changed)} decrypted")
    click.echo("on the other devices, run `agentm encryption decrypt`, too")


def _refuse_sealed_copies(encrypted: EncryptedStore) -> None:
    """What a sync tool left beside notes is no note, and would stay sealed without its keys."""
    notes = {locator.key for locator in note_locators(encrypted.as_stored)}
    for copy, note in conflicts(encrypted.as_stored).items():
        if copy not in notes:
            raise AgentmError(
                f"'{copy}' is a conflict copy of '{note}', which would stay encrypted without its keys",
                hint="`agentm encryption show COPY` prints it; save what the note lacks, then remove the file",
            )


def _retire_keys(backend: StorageBackend, source: KeySource) -> None:
    """Take the keys out of the store, and keep them on this device: older checkpoints are sealed with them."""
    from agentm_kernel.plugin import atomic_write, make_private_folder

    retired = retired_folder(source.folder)
    make_private_folder(retired)
    for found in sorted(backend.list(KEYS), key=lambda file: epoch_of(file) or 0):  # who is cut off needs the newest
        atomic_write(os.path.join(retired, found.name), backend.read(found))
        if backend.capabilities.delete:
            backend.delete(found)


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count:,} files were"
