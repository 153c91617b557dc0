"""What the commands of all stores have in common: the end of `init`, and finding the store that was set up."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, TypeVar

import click

from agentm_kernel.cli.output import current_device, store_device
from agentm_kernel.device.config_writer import set_value
from agentm_kernel.device.installed import COMMANDS
from agentm_kernel.errors import AgentmError, StorageSelectionError
from agentm_kernel.plugins.table import load_plugin
from agentm_kernel.seam.backend import StorageBackend
from agentm_kernel.seam.layout import META
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection import Decision, inspect_store
from agentm_kernel.selection.adopting import select_store
from agentm_kernel.selection.refusing import Refusal
from agentm_kernel.state import Device

Store = TypeVar("Store")


def selected_store(
    kind: type[Store], facet: type, noun: str, init: str, *, read_only: bool = False
) -> tuple[StorageBackend, Store]:
    """The selected store with the layers around it, and its `facet`, if that is the `kind` of a plugin's own store.

    `noun` is the word for such a store, `init` the command that makes one.
    """
    device = current_device()
    meant = store_device()
    selected = meant.store(read_only=read_only)
    store = selected.facet(facet)
    if isinstance(store, kind):
        return selected, store
    which = "selected" if meant is device and not device.config.stores else meant.store_name or "default"
    hint = f"run `{init} --use` to use one"
    for name in ("default", *device.config.stores):
        found = inspect_store(device.of_store(name))
        if not isinstance(found, Refusal) and isinstance(found.backend.facet(facet), kind):
            hint = f"the store '{name}' is one: put `--store {name}` before the command"
            break
    raise StorageSelectionError(f"the {which} store, {selected.describe()}, is not a {noun}", hint=hint)


def conclude_set_up(
    protocol: str,
    options: Mapping[str, str],
    *,
    store_id: str,
    place: str,
    was_there: bool,
    use_it: bool,
    take_along: bool = False,
) -> dict[str, object]:
    """Say what `init` did, and select the store on this device or say which commands do. The answer of `init`.

    Whoever changes the store has notes elsewhere, perhaps: they are taken along, or it is said where they stay.
    """
    click.echo(f"{'joined' if was_there else 'made'} the store {store_id} at {place}")
    device = current_device()
    found = inspect_store(device)
    before = None if isinstance(found, Refusal) else found
    is_present = before is not None and (before.choice.protocol, before.backend.describe()) == (protocol, place)
    others = before if before and not is_present and _has_notes(before.backend) else None
    there, kind = (others.backend.describe(), others.choice.protocol) if others else (None, protocol)
    is_used = use_it or take_along or (is_present and device.config.options(protocol).items() >= options.items())
    if take_along and others is not None:
        _take_along(device, others, protocol, options, merging=was_there)
    elif use_it or take_along:
        select_store(device, protocol, options)
        click.echo("this device uses it now")
        if take_along:
            click.echo("nothing was taken along: there are no notes in the store before, or this is it")
        if there:
            click.echo(f"the notes of the store before stay at {there}")
        if kind != protocol:
            click.echo(f"to take them along: agentm migrate --from {kind} --to {protocol}")
    elif is_used:
        click.echo("this device uses it already")
    else:
        click.echo("to use it on this device, run the same command again with --use")
        if kind != protocol:
            click.echo(f"to take the notes at {there} along as well, with --take-along")
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in options.items())
        click.echo("or, for some projects only, beside the store that this device has:")
        click.echo(f"  agentm store add NAME {protocol} {given}")
    return {"store": store_id, "place": place, "joined": was_there, "in_use": is_used, "notes_before": there}


def _take_along(
    device: Device, others: Decision, protocol: str, options: Mapping[str, str], *, merging: bool
) -> None:
    """Let `agentm migrate` copy the notes of the store before, compare them, and then select the new one."""
    if others.choice.protocol == protocol:
        raise StorageSelectionError(
            f"the store before, {others.backend.describe()}, is of the same kind, so its options would be lost",
            hint="use the new one (--use instead of --take-along), and copy the notes as files",
        )
    migrate: Any = load_plugin(device, COMMANDS, "migrate")  # before anything is changed
    if device.config.shortcut is None:  # where a store lies must not be said before it is said which one is meant
        set_value(device.environ, "storage.backend", others.choice.protocol)
    for name, value in options.items():
        set_value(device.environ, f"plugins.{protocol}.{name}", value)
    words = ["--to", protocol, "--yes", *(["--merge"] if merging else [])]
    migrate.main(words, standalone_mode=False, parent=click.get_current_context(), obj=device.renewed())


def _has_notes(store: StorageBackend) -> bool:
    """Whether something would be missed. A store elsewhere is not asked: it takes time, and has notes mostly."""
    if not store.capabilities.device_files:
        return True
    try:
        return any(entry.name != META for entry in store.list(Locator()))
    except AgentmError:
        return True
