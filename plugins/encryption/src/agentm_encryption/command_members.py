"""`agentm encryption join|admit|recover|show|accept`: who belongs to a store, and what the operator vouches for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentm_encryption.command_context import identity_option, key_fields, name_option, say_keys, say_left
from agentm_encryption.envelope import open_note
from agentm_encryption.epochs import format_fingerprint
from agentm_encryption.membership import (
    admit as admit_member,
    device_name,
    lost_keys,
    offered_keys,
    read_identity_file,
)
from agentm_encryption.opening import with_state
from agentm_encryption.rewriting import drop_leftovers, reseal_from, seal_as
from agentm_encryption.selected import SelectedStore
from agentm_encryption.survey import conflicts
from agentm_encryption.unsent import fetch_state, send_unsent
from agentm_kernel.command import answering, confirm, show_text, shown, store_device
from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    ConflictCopies,
    Locator,
    NotFoundError,
    StorageSelectionError,
)

if TYPE_CHECKING:
    from agentm_encryption.epochs import Keys
    from agentm_encryption.key_source import KeySource

fingerprint_option = click.option(
    "--fingerprint", metavar="DIGITS", help="What another member sees; without it you are asked."
)


@click.command("join")
@fingerprint_option
@identity_option
@name_option
@answering
def join(fingerprint: str | None, way: str, name: str | None, answer: dict[str, object]) -> None:
    """Use an encrypted store on this device, or confirm the new keys of one.

    The first time, this makes the device's own key and shows what a member has to run. After that, compare the
    fingerprint with what the member sees: a key file alone does not prove who made it.
    """
    store = SelectedStore(store_device())
    source = store.source()
    recipient = source.identity.make(way)
    answer.update(place=store.backend.describe(), recipient=recipient)
    try:
        keys = offered_keys(source, store.backend)
    except StorageSelectionError as error:
        if "cannot open" not in error.message:
            raise
        raise AgentmError(
            "this device is not a member of the store yet",
            hint=f"on a device that is, run `agentm encryption admit {recipient} '{name or device_name()}'`; "
            "then run this again here",
        ) from None
    _trust(store, source, keys, fingerprint)
    answer.update(key_fields(keys))
    click.echo(f"this device has joined the store at {store.backend.describe()}")
    send_unsent(store)  # each time: it may have failed the first time
    fetch_state(store.device)
    say_left(drop_leftovers(store.backend))


@click.command("admit")
@click.argument("recipient")
@click.argument("name")
@answering
def admit(recipient: str, name: str, answer: dict[str, object]) -> None:
    """Let the device with the key RECIPIENT (age1…), called NAME, read and write the store."""
    store = SelectedStore(store_device())
    keys = store.joined().keys
    is_new = admit_member(store.backend, keys, recipient, name)
    answer.update(recipient=recipient, name=name, new=is_new, **key_fields(keys))
    if is_new:
        click.echo(f"{name} is a member now")
    else:
        click.echo(f"{recipient} is a member already")
    say_keys(keys)
    click.echo("tell them this fingerprint: they run `agentm encryption join`")


@click.command("recover")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@fingerprint_option
@identity_option
@name_option
@answering
def recover(file: str, fingerprint: str | None, way: str, name: str | None, answer: dict[str, object]) -> None:
    """Let this device in with the recovery key in FILE: when every other device is lost."""
    store = SelectedStore(store_device())
    source = store.source()
    recovery = read_identity_file(file)
    keys = offered_keys(source, store.backend, recovery)
    recipient = source.identity.make(way)
    _trust(store, source, keys, fingerprint)
    name = name or device_name()
    taken = {member.name for member in keys.recipients if member.recipient != recipient}
    number = 2
    chosen = name
    while chosen in taken:
        chosen, number = f"{name} {number}", number + 1
    admit_member(store.backend, keys, recipient, chosen)
    source.reload()
    store.encrypted(source).keys  # noqa: B018 - opens the keys as this device will from now on
    answer.update(place=store.backend.describe(), name=chosen, **key_fields(keys))
    click.echo(f"this device can read the store at {store.backend.describe()} again, as {chosen}")
    click.echo("remove devices that are lost: `agentm encryption rotate --remove NAME`")


def _trust(store: SelectedStore, source: KeySource, keys: Keys, fingerprint: str | None) -> None:
    """Pin the keys once the operator has compared them, and let this device use them."""
    number = keys.current.number
    if source.pins.epochs.get(number) != keys.fingerprint:
        _compare(keys, fingerprint)
        if source.pins.newest == number:
            _leave_own(store, source, keys)
        source.pins.add(number, keys.fingerprint, sealed_names=keys.names_key is not None)
        source.pins.raise_oldest(keys.oldest)
    store.configure()


def _leave_own(store: SelectedStore, source: KeySource, keys: Keys) -> None:
    """This device knows other keys for the same epoch: it made them while another one made these. What is sealed with
    its own is sealed with these, before they are trusted for good: who is cut off here begins anew.
    """
    own = lost_keys(source, store.backend, keys.current.number)
    if own is None:
        raise AgentmError(
            "these are other keys than this device knows for the same epoch; they were not taken",
            hint="ask the other members what they see before you go on",
        )
    source.pins.announce(keys.current.number, keys.fingerprint)
    reseal_from(store.encrypted(source), own)


def _compare(keys: Keys, fingerprint: str | None) -> None:
    if fingerprint is not None:
        if "".join(fingerprint.split()).lower() != keys.fingerprint:
            raise AgentmError(
                f"the keys in the store have another fingerprint: {format_fingerprint(keys.fingerprint)}",
                hint="ask again; if it stays different, somebody has put keys of their own there",
            )
        return
    say_keys(keys)
    sys.stdout.flush()
    confirm(
        "Is that what another member sees (`agentm encryption status`)?",
        yes=False,
        hint="add --fingerprint with what they see",
    )


@click.command("show")
@click.argument("key")
def show(key: str) -> None:
    """Print what the file at KEY says, if a member of the store has written it.

    For what is refused as a note: a version that lost to another one, one that was moved, or one that is too old.
    """
    encrypted = SelectedStore(store_device()).joined()
    locator, stored = Locator(key), encrypted.as_stored
    copies = stored.facet(ConflictCopies)
    is_copy = key in conflicts(stored)
    try:
        text = copies.read_copy(locator) if copies and is_copy else stored.read(locator)
    except NotFoundError:
        kept = with_state(encrypted, read_only=True)
        here = kept.facet(ConflictCopies)
        if here is None or key not in conflicts(kept):
            raise
        show_text(here.read_copy(locator))  # of a plan, and not sent yet
        return
    found = open_note(encrypted.keys, text, key)
    written = f"written as {found.key}, epoch {found.epoch}, by the device {found.device}"
    click.echo(shown(written, err=True), err=True)
    show_text(found.text)


@click.command("accept")
@click.argument("note", nargs=-1, required=True)
@answering
def accept(note: tuple[str, ...], answer: dict[str, list[str]]) -> None:
    """Take an older version of a NOTE for the right one: it was brought back on purpose.

    One that a device sealed before it heard of new keys is encrypted with those.
    """
    encrypted = SelectedStore(store_device()).joined()
    for key in note:
        locator = Locator(key)
        stored = encrypted.as_stored.read(locator)
        found = open_note(encrypted.keys, stored, key)
        if found.key != locator.key:
            encrypted.read(locator)  # says what is wrong with it
        if found.epoch >= encrypted.keys.oldest:
            encrypted.seen.accept(locator.key, found.revision)
        elif not seal_as(encrypted, locator, stored, found.text, found.revision):
            raise ConcurrentModificationError(f"'{locator}' was changed meanwhile", hint="look at it again")
        encrypted.read(locator)
        answer.setdefault("accepted", []).append(key)
        click.echo(f"{key} is accepted as it is")
