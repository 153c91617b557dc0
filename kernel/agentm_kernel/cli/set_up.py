"""What the commands of all stores have in common: the end of `init`, and finding the store that was set up."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_kernel.cli.output import current_device, store_device
from agentm_kernel.device.config_writer import set_value
from agentm_kernel.device.installed import COMMANDS
from agentm_kernel.errors import AgentmError, StorageSelectionError
from agentm_kernel.seam.layout import META
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection import Refusal, inspect_store
from agentm_kernel.selection.adopting import select_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.selection import Decision
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
    if not isinstance(store, kind):
        which = "selected" if meant is device and not device.config.stores else meant.store_name or "default"
        others = [name for name in ("default", *device.config.stores) if _is_kind(device.of_store(name), kind, facet)]
        raise StorageSelectionError(
            f"the {which} store, {selected.describe()}, is not a {noun}",
            hint=f"the store '{others[0]}' is one: put `--store {others[0]}` before the command"
            if others
            else f"run `{init} --use` to use one",
        )
    return selected, store


def _is_kind(device: Device, kind: type, facet: type) -> bool:
    found = inspect_store(device)
    return not isinstance(found, Refusal) and isinstance(found.backend.facet(facet), kind)


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
    found = inspect_store(current_device())
    before = None if isinstance(found, Refusal) else found
    is_present = before is not None and (before.choice.protocol, before.backend.describe()) == (protocol, place)
    others = before if before and not is_present and _has_notes(before.backend) else None
    answer = {"store": store_id, "place": place, "joined": was_there, "in_use": True}
    if take_along and others is not None:
        _take_along(others, protocol, options, merging=was_there)
    elif use_it or take_along:
        select_store(current_device(), protocol, options)
        click.echo("this device uses it now")
        _say_what_stays(others, protocol)
    elif is_present and current_device().config.options(protocol).items() >= options.items():
        click.echo("this device uses it already")
    else:
        answer["in_use"] = False
        _say_how_to_use(others, protocol, options)
    return {**answer, "notes_before": others.backend.describe() if others else None}


def _take_along(others: Decision, protocol: str, options: Mapping[str, str], *, merging: bool) -> None:
    """Let `agentm migrate` copy the notes of the store before, compare them, and then select the new one."""
    from agentm_kernel.plugins.table import load_plugin

    if others.choice.protocol == protocol:
        raise StorageSelectionError(
            f"the store before, {others.backend.describe()}, is of the same kind, so its options would be lost",
            hint="use the new one (--use instead of --take-along), and copy the notes as files",
        )
    device = current_device()
    migrate: Any = load_plugin(device, COMMANDS, "migrate")  # before anything is changed
    if device.config.shortcut is None:  # where a store lies must not be said before it is said which one is meant
        set_value(device.environ, "storage.backend", others.choice.protocol)
    for name, value in options.items():
        set_value(device.environ, f"plugins.{protocol}.{name}", value)
    words = ["--to", protocol, "--yes", *(["--merge"] if merging else [])]
    migrate.main(words, standalone_mode=False, parent=click.get_current_context(), obj=device.renewed())


def _say_what_stays(others: Decision | None, protocol: str) -> None:
    if others is None:
        return
    click.echo(f"the notes of the store before stay at {others.backend.describe()}")
    if others.choice.protocol != protocol:
        click.echo(f"to take them along: agentm migrate --from {others.choice.protocol} --to {protocol}")


def _say_how_to_use(others: Decision | None, protocol: str, options: Mapping[str, str]) -> None:
    can_take = others is not None and others.choice.protocol != protocol
    click.echo("to use it on this device, run the same command again with --use")
    if others is not None and can_take:
        click.echo(f"to take the notes at {others.backend.describe()} along as well, with --take-along")
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in options.items())
    click.echo("or, for some projects only, beside the store that this device has:")
    click.echo(f"  agentm store add NAME {protocol} {given}")


def _has_notes(store: StorageBackend) -> bool:
    """Whether something would be missed. A store elsewhere is not asked: it takes time, and has notes mostly."""
    if not store.capabilities.device_files:
        return True
    try:
        return any(entry.name != META for entry in store.list(Locator()))
    except AgentmError:
        return True
