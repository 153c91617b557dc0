"""`agentm checkpoint history` and `undo`: the versions of one note that writes through agentm replaced."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.command_context import CommandContext, command_line
from agentm_checkpoint.past import open_past
from agentm_checkpoint.restoring import check_read
from agentm_checkpoint.sealed import is_sealed
from agentm_checkpoint.texts import counted, visible
from agentm_checkpoint.tree import leaf_of
from agentm_kernel.command import echo_json, echo_table, json_option
from agentm_kernel.plugin import ABSENT, IntegrityError, Locator, NotFoundError, content_hash, decode_content

if TYPE_CHECKING:
    from agentm_checkpoint.history import Entry
    from agentm_checkpoint.past import Past
    from agentm_kernel.plugin import StorageBackend

_LIST = "`agentm checkpoint history NOTE` lists the versions"
_NOT_KEPT = (
    "what another device, an editor or a sync tool replaced is not kept here: `agentm checkpoint list` shows what is"
)


@click.command("history")
@click.argument("note", metavar="NOTE")
@click.option("--show", metavar="VERSION", help="Print that version, byte for byte.")
@json_option
def history_command(note: str, show: str | None, as_json: bool) -> None:
    """List what was changed in NOTE through agentm on this device, oldest first. NOTE is a key or a unique name."""
    here = CommandContext()
    past = open_past(here.backend, here.device)
    key = find_key(note, past)
    entries = past.of(key)
    if show is not None:
        sys.stdout.buffer.write(past.read(_version(entries, key, show), here.backend))
        return
    if past.damage:
        click.echo(f"warning: {past.damage}", err=True)
    if as_json:
        echo_json(
            note=key, head=past.head, damage=past.damage, changes=[_fields(past, key, entry) for entry in entries]
        )
        return
    click.echo(visible(key))
    echo_table(
        ("when", "what", "version before", "bytes"),
        [
            (entry.when, past.what(key, entry), entry.version or "-", f"{entry.old[0]:,}" if entry.old else "-")
            for entry in entries
        ],
    )


@click.command("undo")
@click.argument("note", metavar="NOTE")
@click.argument("version", metavar="[VERSION]", required=False)
@json_option
def undo_command(note: str, version: str | None, as_json: bool) -> None:
    """Bring NOTE back to what it was before the last change through agentm, or to VERSION.

    Undoing is a change too: it is in the history, and undoing again takes it back. If somebody changes the note in
    the same moment, it is left alone.
    """
    here = CommandContext(read_only=False)
    past = open_past(here.backend, here.device)
    key = find_key(note, past)
    text, now = undo(here.backend, past, key, version)
    if as_json:
        echo_json(note=key, version=_name(text), replaced=None if now is None else _name(now))
        return
    size = counted(len(text.encode()), "byte")
    click.echo(f"brought back {visible(key)} as version {_name(text)}, {size}")
    if now is not None and not is_sealed(here.backend):  # a sealed version goes by the hash of what is stored
        click.echo(f"back again: {command_line(f'undo {quote(visible(key))} {_name(now)}')}")


def undo(backend: StorageBackend, past: Past, key: str, version: str | None = None) -> tuple[str, str | None]:
    """Write an earlier version of a note on condition that nobody changes it meanwhile; its text, and that before."""
    locator = Locator(key)
    try:
        now: str | None = backend.read(locator)
    except NotFoundError:
        now = None
    entries = past.of(key)
    if version is None:
        current = None if now is None else leaf_of(now.encode())
        found = next((entry for entry in reversed(entries) if entry.old not in (None, current)), None)
        if found is None:
            raise NotFoundError(f"'{key}' has no earlier version in the history", hint=_NOT_KEPT)
    else:
        found = _version(entries, key, version)
    text = decode_content(past.read(found, backend), locator)
    if text == now:
        raise NotFoundError(f"'{key}' is that version already; nothing was changed", hint=_LIST)
    check_read(backend, [key])
    backend.write(locator, text, if_match=ABSENT if now is None else content_hash(now))
    return text, now


def find_key(name: str, past: Past) -> str:
    """The one key that is `name`, or whose last part is, with or without `.md`."""
    known = sorted(past.keys)
    wanted = name.removesuffix(".md")
    if name in known:
        return name
    found = [key for key in known if f"/{key.removesuffix('.md')}".endswith(f"/{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(f"several notes are called {ascii(name)}", hint=f"name one: {', '.join(found[:5])}")
    if past.damage:
        hint = "`agentm checkpoint verify` says what is whole"
        raise IntegrityError(f"{past.damage}; nothing of {ascii(name)} is left in it", hint=hint)
    raise NotFoundError(
        f"this device has no history of {ascii(name)}: no note of that name was changed through agentm here",
        hint=_NOT_KEPT,
    )


def _version(entries: list[Entry], key: str, name: str) -> Entry:
    found = {entry.old[1]: entry for entry in entries if entry.old and entry.old[1][4:].hex().startswith(name)}
    if len(found) != 1 or not name:
        problem = "several versions begin" if found else "no version begins"
        raise NotFoundError(f"of '{key}', {problem} with {ascii(name)}", hint=_LIST)
    return next(iter(found.values()))


def _name(text: str) -> str:
    """The version that a text is."""
    return leaf_of(text.encode())[1][4:].hex()[:12]


def _fields(past: Past, key: str, entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "time": entry.time,
        "note": entry.key,
        "what": past.what(key, entry),
        "version": entry.version,
        "bytes": entry.old[0] if entry.old else None,
    }
