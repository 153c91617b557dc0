"""`agentm store`: the stores that this device uses, and how to make it forget one that is gone for good."""

from __future__ import annotations

import os

import click

from agentm_kernel.cli.config import checked_value, refuse_secret
from agentm_kernel.cli.output import Answer, KernelGroup, completing, confirm, counted
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.installed import BACKENDS
from agentm_kernel.errors import AgentmError, ConfigError, NotFoundError
from agentm_kernel.plugins.table import declared_options, find_plugin, load_backend
from agentm_kernel.seam import Opening
from agentm_kernel.seam.backend import DeviceCopy, StorageBackend
from agentm_kernel.selection import choose, inspect_store, open_backend
from agentm_kernel.selection.identity import known_stores, read_stamp, record_store
from agentm_kernel.selection.refusing import Refusal
from agentm_kernel.state import Device

command = KernelGroup("store", help="Show, add and remove the stores of this device.")

_DEFAULT = "default"
_complete_store = completing(lambda device: [_DEFAULT, *device.config.stores])


@command.answering("show")
@click.argument("name", required=False, shell_complete=_complete_store)
def show(device: Device, name: str | None, answer: Answer) -> None:
    """Show the default store, or the one called NAME: where it is, and what it promises."""
    found = inspect_store(device.of_store(name))
    if isinstance(found, Refusal):
        raise found.error
    capabilities = found.backend.capabilities
    promises = {flag: getattr(capabilities, flag) for flag in capabilities.__slots__}
    answer.update(name=name or device.store_name or _DEFAULT, protocol=found.choice.protocol)
    answer.update(chosen_by=found.choice.origin, place=found.backend.describe(), warning=found.warning)
    given = ", ".join(flag for flag, is_given in promises.items() if is_given) or "nothing"
    people = {**answer, "wrappers": ", ".join(found.wrappers), "promises": given}
    answer.update(wrappers=found.wrappers, capabilities=promises)
    answer.show(("", ""), [(field.replace("_", " "), value) for field, value in people.items() if value])


@command.answering("list")
def list_stores(device: Device, answer: Answer) -> None:
    """List the stores of this device: the default one, and those that projects are bound to."""
    bound = list(device.config.bindings.values())
    stores = []
    for name in (_DEFAULT, *device.config.stores):
        found = inspect_store(device.of_store(name))
        row = {"name": name, "protocol": found.choice and found.choice.protocol, "bound": bound.count(name)}
        if isinstance(found, Refusal):
            row |= {"place": None, "status": "refused", "message": found.error.message}
        else:
            status = "warning" if found.warning else "ok"
            row |= {"place": found.backend.describe(), "status": status, "message": found.warning}
        stores.append(row)
    columns = ("name", "protocol", "status", "bound", "place")
    rows = [[str(store["message"] if store[name] is None else store[name]) for name in columns] for store in stores]
    answer["stores"] = stores
    answer.show(columns, rows)


@command.answering("add")
@click.argument("name")
@click.argument("protocol", shell_complete=completing(BACKENDS))
@click.argument("options", nargs=-1, metavar="[OPTION=VALUE]...")
@click.option("--wrapper", "wrappers", multiple=True, help="A layer around it, the innermost first.")
def add(
    device: Device, name: str, protocol: str, options: tuple[str, ...], wrappers: tuple[str, ...], answer: Answer
) -> None:
    """Let this device use a further store, NAME, for projects that are bound to it with `agentm project use-store`.

    The store itself is made by its own command, `agentm git init` for one. OPTIONs are those that `agentm plugins
    show PROTOCOL` lists.
    """
    if name in (_DEFAULT, *device.config.stores):
        raise ConfigError(f"there is a store called '{name}' already", hint="`agentm store list` shows the stores")
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ConfigError(f"{name!r} cannot be the name of a store", hint="use letters, digits and hyphens")
    backend_class = load_backend(find_plugin(device, BACKENDS, protocol))
    table = {"backend": protocol, **_given_options(device, name, protocol, options)}
    told = {key: value for key, value in backend_class.found_options(table, device).items() if key not in table}
    table |= told
    if wrappers:
        table["wrappers"] = list(wrappers)
    found = inspect_store(device.of_store(name, table), read_only=False)
    if isinstance(found, Refusal):
        raise found.error
    _refuse_overlap(device, found.backend)
    for option, value in table.items():
        set_value(device.environ, f"stores.{name}.{option}", value)
    place = found.backend.describe()
    answer.tell(f"{name} is the store at {place}", name=name, protocol=protocol, place=place, warning=found.warning)
    for option, value in told.items():
        click.echo(f"its {option} is {value}, as what is there has it")
    if found.warning:
        click.echo(f"warning: {found.warning}", err=True)
    click.echo(f"`agentm project use-store {name}` in a checkout lets its notes and plans live there")


def _refuse_overlap(device: Device, new: StorageBackend) -> None:
    """Refuse a store that this device has by another name, and one that lies inside such a store or around it."""
    place, stamp = os.path.realpath(new.describe()), read_stamp(new)
    for name in (_DEFAULT, *device.config.stores):
        found = inspect_store(device.of_store(name))
        if isinstance(found, Refusal):
            continue  # where it lies is not known
        other = os.path.realpath(found.backend.describe())
        if found.backend.describe() == new.describe() or read_stamp(found.backend) == stamp is not None:
            hint = f"use it as '{name}': `agentm project use-store {name}`"
            raise ConfigError(f"{new.describe()} is the store '{name}' of this device already", hint=hint)
        are_folders = os.path.isabs(new.describe()) and os.path.isabs(found.backend.describe())
        if are_folders and os.path.commonpath((place, other)) in (place, other):
            inner, outer = sorted((place, other), key=len, reverse=True)
            hint = f"choose a folder of its own; `agentm store show {name}` shows the store that this device has"
            raise ConfigError(f"the store {inner} lies inside the store {outer}", hint=hint)


def _given_options(device: Device, name: str, protocol: str, given: tuple[str, ...]) -> dict[str, object]:
    """What was given as OPTION=VALUE, as far as the backend declares that it may have it."""
    declared = declared_options(device, protocol)
    table = {}
    for words in given:
        option, equals, text = words.partition("=")
        if not equals:
            raise ConfigError(f"'{words}' is not an option with its value", hint="write it like path=~/team")
        refuse_secret(option, text)
        table[option] = checked_value(option, text, declared, protocol, option, f"stores.{name}")
    return table


@command.answering("remove")
@click.argument("name", shell_complete=_complete_store)
def remove(device: Device, name: str, answer: Answer) -> None:
    """Let this device use the store NAME no more. The store and its notes stay as they are."""
    if name not in device.config.stores:
        raise NotFoundError(f"there is no store called '{name}'", hint="`agentm store list` shows the stores")
    bound = [project for project, store in device.config.bindings.items() if store == name]
    if bound:
        raise ConfigError(
            f"'{name}' is the store of {counted(len(bound), 'project')}: {', '.join(sorted(bound)[:3])}",
            hint="run `agentm project use-store default` in each of them first",
        )
    unset_value(device.environ, f"stores.{name}")
    answer.tell(f"this device uses {name} no more", name=name)


@command.answering("forget")
@click.argument("place", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(device: Device, place: str | None, yes: bool, answer: Answer) -> None:
    """Forget which store this device knew at PLACE (shown in the refusal), so that what is there now is accepted.

    Nothing in any store is touched.
    """
    state_dir = device.state_dir
    known = [(protocol, there) for protocol, there, _ in known_stores(state_dir)]
    if not known:
        raise AgentmError("this device knows no store, so there is none to forget")
    meant = [store for store in known if place is None or store[1] in (place, os.path.abspath(place))]
    if len({there for _, there in meant}) != 1:
        which = "name the store to forget" if place is None else f"this device knows no store at {place}"
        places = ", ".join(sorted({there for _, there in known}))
        raise AgentmError(f"{which}; it knows: {places}", hint="run `agentm store forget PLACE` with one of them")
    confirm(f"Forget the store at {meant[0][1]}?", yes=yes)
    for protocol, there in meant:
        record_store(state_dir, protocol, there, None)
        _forget_copy(device, there)
        answer.tell(f"forgot the {protocol} store at {there}", place=there, protocol=protocol)


def _forget_copy(device: Device, place: str) -> None:
    """A store elsewhere has a copy here that carries the mark, too."""
    for name in (None, *device.config.stores):
        try:
            own = device.of_store(name)
            backend = open_backend(own, choose(own), Opening(state_dir=device.state_dir))
        except AgentmError:
            continue  # it cannot be opened, so it has no copy that could be in the way
        copy = backend.facet(DeviceCopy)
        if copy is not None and backend.describe() == place:
            copy.forget_store()
