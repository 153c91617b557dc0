"""`agentm encryption status`: who can read the store, and whether all of it is sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agentm_encryption.command_context import bar, listed
from agentm_encryption.epochs import format_fingerprint, open_keys
from agentm_encryption.journal import DECRYPT, INIT, Journal
from agentm_encryption.key_source import newest_epoch
from agentm_encryption.opening import with_state
from agentm_encryption.places import key_file
from agentm_encryption.selected import SelectedStore
from agentm_encryption.survey import conflicts, plain_leftovers, survey
from agentm_kernel.command import echo_json, json_option, shown, store_device
from agentm_kernel.plugin import AgentmError, read_stamp

if TYPE_CHECKING:
    from agentm_encryption.store import EncryptedStore
    from agentm_encryption.survey import Survey


@click.command("status")
@click.option(
    "--recovery-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Also prove that the recovery key in this file opens the store.",
)
@json_option
def status(recovery_file: str | None, as_json: bool) -> None:
    """Show whether the store is encrypted, who can read it, and what is wrong with any note.

    Exits 1 if a note is not as it should be.
    """
    store = SelectedStore(store_device())
    epoch = newest_epoch(store.backend) if read_stamp(store.backend) is not None else 0
    if not epoch:
        if as_json:
            echo_json(place=store.backend.describe(), encrypted=False)
        else:
            click.echo(f"the store at {store.backend.describe()} is not encrypted")
        return
    encrypted = store.joined()
    keys = encrypted.keys
    found = survey(encrypted, bar)
    recovers = try_recovery(store, encrypted, recovery_file)
    unfinished = _unfinished(encrypted, found)
    leftovers = plain_leftovers(store.backend.describe())
    fields: dict[str, Any] = {
        "place": store.backend.describe(),
        "encrypted": True,
        "store": keys.store_id,
        "configured": store.is_configured,
        "epoch": keys.current.number,
        "fingerprint": keys.fingerprint,
        "names": "sealed" if keys.names_key else "clear",
        "members": [
            {"kind": member.kind, "name": member.name, "recipient": member.recipient} for member in keys.recipients
        ],
        "this_device": encrypted.source.identity.recipient,
        "identity": encrypted.source.identity.way,
        "sealed": found.sealed,
        "plain": found.plain,
        "no_text": found.no_text,
        "old": found.old,
        "problems": found.problems,
        "conflicts": conflicts(with_state(encrypted, read_only=True)),
        "leftovers": leftovers,
        "unfinished": unfinished,
        "recovery_key_opens": recovers,
    }
    if as_json:
        echo_json(**fields)
    else:
        _show(fields, found, encrypted)
    is_sound = not (found.plain or found.problems or unfinished or leftovers) and store.is_configured
    if not is_sound or recovers is False:
        raise click.exceptions.Exit(1)


def try_recovery(store: SelectedStore, encrypted: EncryptedStore, path: str | None) -> bool | None:
    """Whether the recovery key opens the keys; `None` if nobody asked."""
    if path is None:
        return None
    from agentm_encryption.membership import read_identity_file

    keys = encrypted.keys
    number = keys.current.number
    try:
        found = open_keys(store.backend.read(key_file(number)), read_identity_file(path), keys.store_id, number)
    except AgentmError:
        return False
    return found.fingerprint == keys.fingerprint


def _unfinished(encrypted: EncryptedStore, found: Survey) -> str | None:
    """The command that was interrupted."""
    work = Journal(encrypted.source.folder).work
    if work in (INIT, DECRYPT):
        return work
    keys = encrypted.keys
    return "rotate" if keys.oldest < keys.current.number or found.old else None


def _show(fields: dict[str, Any], found: Survey, encrypted: EncryptedStore) -> None:
    click.echo(f"the store at {fields['place']} is encrypted (epoch {fields['epoch']}, names {fields['names']})")
    click.echo(f"fingerprint: {format_fingerprint(fields['fingerprint'])}")
    own = fields["this_device"]
    for member in fields["members"]:
        note = " (this device)" if member["recipient"] == own else ""
        click.echo(shown(f"{member['kind']}: {member['name']}{note}  {member['recipient']}"))
    click.echo(f"this device keeps its own key in: {fields['identity']}")
    click.echo(f"notes: {found.sealed} sealed")
    if encrypted.capabilities.sync:
        click.echo(f"plans and progress are plain for hooks in {encrypted.source.folder}, private to this user")
    else:
        click.echo("plans and progress stay plain in each checkout's .harness folder")
    if not fields["configured"]:
        click.echo("this device does not use encryption: `agentm encryption join` sets that right", err=True)
    if fields["recovery_key_opens"] is not None:
        click.echo(f"the recovery key {'opens' if fields['recovery_key_opens'] else 'DOES NOT open'} the store")
    if fields["unfinished"]:
        click.echo(f"interrupted: run `agentm encryption {fields['unfinished']}` to go on", err=True)
    reasons = dict.fromkeys(found.plain, "not encrypted; `agentm encryption init --adopt` seals it, if it is yours")
    reasons |= found.problems | dict.fromkeys(found.no_text, "no text, and not encrypted")
    for line in listed(reasons):
        click.echo(line, err=True)
    for copy, note in fields["conflicts"].items():
        click.echo(
            shown(f"  {copy}: a conflict copy of {note}; `agentm encryption show` prints it", err=True), err=True
        )
    for path in fields["leftovers"]:
        click.echo(f"  a plain version that another program has open, or has written to: {path}", err=True)
