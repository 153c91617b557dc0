"""`agentm store`: the store that this device uses, and how to make the device forget one that is gone for good."""

from __future__ import annotations

import os

import click

from agentm_kernel.cli.output import confirm, current_device, echo_json, echo_table, json_option
from agentm_kernel.errors import AgentmError
from agentm_kernel.selection.identity import forget_store, known_stores
from agentm_kernel.selection.inspect import Refusal, inspect_store


@click.group("store")
def command() -> None:
    """Show the selected store, or make this device forget one."""


@command.command("show")
@json_option
def show(as_json: bool) -> None:
    """Show which store is selected, where it is, and what it promises."""
    found = inspect_store(current_device())
    if isinstance(found, Refusal):
        raise found.error
    capabilities = found.backend.capabilities
    promises = {name: getattr(capabilities, name) for name in capabilities.__slots__}
    fields = {
        "protocol": found.choice.protocol,
        "chosen_by": found.choice.origin,
        "place": found.backend.describe(),
        "warning": found.warning,
    }
    if as_json:
        echo_json(**fields, capabilities=promises)
        return
    rows = [(name.replace("_", " "), value) for name, value in fields.items() if value]
    echo_table(
        ("", ""), [*rows, ("promises", ", ".join(name for name, given in promises.items() if given) or "nothing")]
    )


@command.command("forget")
@click.argument("place", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(place: str | None, yes: bool) -> None:
    """Forget which store this device knew at PLACE (shown in the refusal), so that what is there now is accepted.

    Nothing in any store is touched.
    """
    state_dir = current_device().state_dir
    known = known_stores(state_dir)
    meant = [entry for entry in known if place is None or entry.place in (place, os.path.abspath(place))]
    if len({entry.place for entry in meant}) != 1:
        raise _unclear(place, sorted({entry.place for entry in known}))
    confirm(f"Forget the store at {meant[0].place}?", yes=yes)
    for entry in meant:
        forget_store(state_dir, entry.protocol, entry.place)
        click.echo(f"forgot the {entry.protocol} store at {entry.place}")


def _unclear(place: str | None, known: list[str]) -> AgentmError:
    if not known:
        return AgentmError("this device knows no store, so there is none to forget")
    which = "name the store to forget" if place is None else f"this device knows no store at {place}"
    return AgentmError(
        f"{which}; it knows: {', '.join(known)}", hint="run `agentm store forget PLACE` with one of them"
    )
