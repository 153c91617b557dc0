"""`agentm store`: the stores that this device uses, and how to make it forget one that is gone for good."""

from __future__ import annotations

import os

import click

from agentm_kernel.cli.config import refuse_secret, value_of
from agentm_kernel.cli.output import (
    answering,
    completing,
    confirm,
    counted,
    current_device,
    echo_json,
    echo_table,
    json_option,
)
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.installed import BACKENDS
from agentm_kernel.errors import AgentmError, ConfigError, NotFoundError
from agentm_kernel.plugins.table import declared_options, find_plugin, load_backend
from agentm_kernel.seam.options import check_option
from agentm_kernel.selection import Refusal, inspect_store
from agentm_kernel.selection.identity import forget_store, known_stores

_DEFAULT = "default"


_complete_store = completing(lambda device: [_DEFAULT, *device.config.stores])


@click.group("store")
def command() -> None:
    """Show, add and remove the stores of this device."""


@command.command("show")
@click.argument("name", required=False, shell_complete=_complete_store)
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show the default store, or the one called NAME: where it is, and what it promises."""
    found = inspect_store(current_device().of_store(name))
    if isinstance(found, Refusal):
        raise found.error
    capabilities = found.backend.capabilities
    promises = {name: getattr(capabilities, name) for name in capabilities.__slots__}
    fields = {
        "name": name or _DEFAULT,
        "protocol": found.choice.protocol,
        "chosen_by": found.choice.origin,
        "place": found.backend.describe(),
        "warning": found.warning,
    }
    if as_json:
        echo_json(**fields, wrappers=found.wrappers, capabilities=promises)
        return
    fields["wrappers"] = ", ".join(found.wrappers)
    rows = [(name.replace("_", " "), value) for name, value in fields.items() if value]
    echo_table(
        ("", ""), [*rows, ("promises", ", ".join(name for name, given in promises.items() if given) or "nothing")]
    )


@command.command("list")
@json_option
def list_stores(as_json: bool) -> None:
    """List the stores of this device: the default one, and those that projects are bound to."""
    device = current_device()
    bound = list(device.config.bindings.values())
    rows = []
    for name in (_DEFAULT, *device.config.stores):
        found = inspect_store(device.of_store(name))
        row = {
            "name": name,
            "protocol": found.choice.protocol if found.choice else None,
            "bound": bound.count(name),
        }
        if isinstance(found, Refusal):
            rows.append({**row, "place": None, "status": "refused", "message": found.error.message})
        else:
            status = "warning" if found.warning else "ok"
            rows.append({**row, "place": found.backend.describe(), "status": status, "message": found.warning})
    if as_json:
        echo_json(stores=rows)
        return
    columns = ("name", "protocol", "status", "bound", "place")
    echo_table(
        columns,
        [[str(row[column] if row[column] is not None else row["message"]) for column in columns] for row in rows],
    )


@command.command("add")
@click.argument("name")
@click.argument("protocol", shell_complete=completing("agentm.backends"))
@click.argument("options", nargs=-1, metavar="[OPTION=VALUE]...")
@click.option("--wrapper", "wrappers", multiple=True, help="A layer around it, the innermost first.")
@answering
def add(
    name: str, protocol: str, options: tuple[str, ...], wrappers: tuple[str, ...], answer: dict[str, object]
) -> None:
    """Let this device use a further store, NAME, for projects that are bound to it with `agentm project use-store`.

    The store itself is made by its own command, `agentm git init` for one. OPTIONs are those that `agentm plugins
    show PROTOCOL` lists.
    """
    device = current_device()
    _check_new_name(name, device.config.stores)
    backend_class = load_backend(find_plugin(device, BACKENDS, protocol))
    declared = declared_options(device, protocol)
    table: dict[str, object] = {"backend": protocol}
    for given in options:
        option, equals, text = given.partition("=")
        if not equals:
            raise ConfigError(f"'{given}' is not an option with its value", hint="write it like path=~/team")
        refuse_secret(option, text)
        kind = next((known.kind for known in declared or () if known.name == option), "any")
        value = value_of(option, text, kind)
        if declared is not None:
            check_option(protocol, option, value, declared, f"stores.{name}")
        table[option] = value
    told = {
        option: value for option, value in backend_class.found_options(table, device).items() if option not in table
    }
    table.update(told)
    if wrappers:
        table["wrappers"] = list(wrappers)
    found = inspect_store(device.of_store(name, table), read_only=False)
    if isinstance(found, Refusal):
        raise found.error
    for option, value in table.items():
        set_value(device.environ, f"stores.{name}.{option}", value)
    answer.update(name=name, protocol=protocol, place=found.backend.describe(), warning=found.warning)
    click.echo(f"{name} is the store at {answer['place']}")
    for option, value in told.items():
        click.echo(f"its {option} is {value}, as what is there has it")
    if found.warning:
        click.echo(f"warning: {found.warning}", err=True)
    click.echo(f"`agentm project use-store {name}` in a checkout lets its notes and plans live there")


@command.command("remove")
@click.argument("name", shell_complete=_complete_store)
@answering
def remove(name: str, answer: dict[str, object]) -> None:
    """Let this device use the store NAME no more. The store and its notes stay as they are."""
    device = current_device()
    if name not in device.config.stores:
        raise NotFoundError(f"there is no store called '{name}'", hint="`agentm store list` shows the stores")
    bound = [project for project, store in device.config.bindings.items() if store == name]
    if bound:
        raise ConfigError(
            f"'{name}' is the store of {counted(len(bound), 'project')}: {', '.join(sorted(bound)[:3])}",
            hint="run `agentm project use-store default` in each of them first",
        )
    unset_value(device.environ, f"stores.{name}")
    answer["name"] = name
    click.echo(f"this device uses {name} no more")


def _check_new_name(name: str, known: tuple[str, ...]) -> None:
    if name == _DEFAULT or name in known:
        raise ConfigError(f"there is a store called '{name}' already", hint="`agentm store list` shows the stores")
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ConfigError(f"{name!r} cannot be the name of a store", hint="use letters, digits and hyphens")


@command.command("forget")
@click.argument("place", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@answering
def forget(place: str | None, yes: bool, answer: dict[str, object]) -> None:
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
        answer.update(place=entry.place, protocol=entry.protocol)
        click.echo(f"forgot the {entry.protocol} store at {entry.place}")


def _unclear(place: str | None, known: list[str]) -> AgentmError:
    if not known:
        return AgentmError("this device knows no store, so there is none to forget")
    which = "name the store to forget" if place is None else f"this device knows no store at {place}"
    return AgentmError(
        f"{which}; it knows: {', '.join(known)}", hint="run `agentm store forget PLACE` with one of them"
    )
