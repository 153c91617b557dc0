"""`agentm plugins`: what is installed, and whether it works."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.cli.output import completing, current_device, echo_json, echo_table, json_option
from agentm_kernel.cli.plugin_inventory import take_inventory
from agentm_kernel.device.installed import HOOKS, OPTIONS, PLUGINS, VERIFIERS, canonical_name, kind_of
from agentm_kernel.errors import PluginError
from agentm_kernel.plugins.table import conflict, load_plugin

if TYPE_CHECKING:
    from agentm_kernel.cli.plugin_inventory import Entry, Inventory
    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.state import Device

    Verified = dict[PluginRecord, dict[str, Any]]
    """What came of loading each plugin: `state`, `reason` and `capabilities`."""


@click.group("plugins")
def command() -> None:
    """Show which plugins are installed, and whether they work."""


# ------------------------------------------------------------------------------------------------ list


@command.command("list")
@click.option("--verify", is_flag=True, help="Also load each plugin, in a process of its own for 5 seconds at most.")
@click.option("--entries", is_flag=True, help="A line for each thing that a plugin brings, not for each plugin.")
@json_option
def list_command(verify: bool, entries: bool, as_json: bool) -> int:
    """List every installed plugin, what it brings, which store is selected and why, and what is in conflict.

    Nothing is imported, so a broken plugin cannot get in the way; --verify (of agentm-devkit) loads each in a process
    of its own, and exits 1 if one is broken.
    """
    device = current_device()
    inventory = take_inventory(device)
    verified = _verify(device, inventory) if verify else {}
    if as_json:
        echo_json(
            plugins=[_fields(entry, verified) for entry in inventory.entries],
            conflicts=[_conflict_fields(claims) for claims in inventory.conflicts],
            notes=_notes(inventory),
        )
    else:
        if verify or entries:
            _show_entries(inventory, verified)
        else:
            _show_plugins(inventory)
        _show_remarks(inventory, verified)
    return int(any(result["state"] != "ok" for result in verified.values()))


def _verify(device: Device, inventory: Inventory) -> Verified:
    """What loading showed. What the policy keeps out is not loaded for a look, either."""
    verify: Any = load_plugin(device, VERIFIERS, "plugins")
    found: Verified = verify([entry.record for entry in inventory.entries if entry.state != "disabled"])
    return found


def _show_plugins(inventory: Inventory) -> None:
    """A line for each distribution, and one more for each of its entries that is not as it should be."""
    distributions: dict[tuple[str, str], list[Entry]] = {}
    for entry in inventory.entries:
        distributions.setdefault((entry.record.distribution, entry.record.version), []).append(entry)
    rows = []
    for (name, version), entries in sorted(distributions.items()):
        good = [entry for entry in entries if entry.state == "available"]
        selected = [f"{entry.record.name} {entry.why}" for entry in good if entry.is_selected]
        if good:
            rows.append(
                [name, version, "selected" if selected else "available", ", ".join(selected or _brought(good))]
            )
        rows += [
            [name, version, entry.state, f"{_kind(entry.record)} {entry.record.name}: {entry.why}"]
            for entry in entries
            if entry.state != "available"
        ]
    echo_table(["plugin", "version", "state", "brings"], [[_printable(cell) for cell in row] for row in rows])


def _brought(entries: list[Entry]) -> list[str]:
    """What a plugin brings, on one line: stores, layers and a few commands by name, the rest counted."""
    kinds: dict[str, list[str]] = {}
    for entry in entries:
        if entry.record.group != OPTIONS:
            kind = _kind(entry.record)
            kinds.setdefault("hook" if kind.startswith("hook ") else kind, []).append(entry.record.name)
    named = ("backend", "command", "wrapper")
    return [
        f"{kind} {', '.join(names)}"
        if kind in named and len(names) < 3
        else f"{len(names)} {kind}{'s' * (len(names) > 1)}"
        for kind, names in kinds.items()
    ]


def _show_entries(inventory: Inventory, verified: Verified) -> None:
    """Columns that tell nothing are left out: what loads, if nothing was loaded; where, if all is in one folder."""
    folders = {os.path.dirname(entry.record.location) for entry in inventory.entries}
    headings = ["kind", "name", "distribution", "version", "state"]
    headings += ["loads"] * bool(verified) + ["why"] + ["installed in"] * (len(folders) > 1)
    rows = []
    for entry in inventory.entries:
        record = entry.record
        state = "selected" if entry.is_selected and entry.state == "available" else entry.state
        row = [_kind(record), record.name, record.distribution, record.version, state]
        row += [_loads(verified.get(record))] * bool(verified) + [entry.why or ""]
        row += [os.path.dirname(record.location)] * (len(folders) > 1)
        rows.append([_printable(cell) for cell in row])
    echo_table(headings, rows)


def _kind(record: PluginRecord) -> str:
    """A plugin that hears one hook is told from the same one for another by the hook's name."""
    hook = record.group.removeprefix(f"{PLUGINS}.")
    return f"hook {hook}" if hook in HOOKS else kind_of(record.group)


def _show_remarks(inventory: Inventory, verified: Verified) -> None:
    """What concerns more than one row, on standard error: the table stays a table."""
    for claims in inventory.conflicts:
        error = conflict(claims)
        click.echo(_printable(f"conflict: {error.message}\nhint: {error.hint}"), err=True)
    for note in _notes(inventory):
        click.echo(_printable(f"note: {note}"), err=True)
    for result in verified.values():
        if result["reason"]:
            state = "note" if result["state"] == "ok" else result["state"]
            click.echo(_printable(f"{state}: {result['reason']}"), err=True)


def _notes(inventory: Inventory) -> list[str]:
    unreadable = [f"metadata cannot be read: {line}" for line in inventory.unreadable]
    broken = [f"what is selected is unknown: {inventory.config_error}"] if inventory.config_error else []
    return [*broken, *inventory.missing, *unreadable]


def _loads(result: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    if result["state"] != "ok" or result["capabilities"] is None:
        return str(result["state"])
    return f"ok: {', '.join(result['capabilities']) or 'no capabilities'}"


def _fields(entry: Entry, verified: Verified) -> dict[str, Any]:
    record = entry.record
    fields = {name: getattr(record, name) for name in ("group", "value", "distribution", "version", "location")}
    chosen = {"api": list(record.api), "state": entry.state, "selected": entry.is_selected, "why": entry.why}
    outcome = {"verified": verified[record]} if record in verified else {}
    return {"name": record.name, "kind": kind_of(record.group), **fields, **chosen, **outcome}


def _conflict_fields(claims: list[PluginRecord]) -> dict[str, Any]:
    error = conflict(claims)
    return {
        "group": claims[0].group,
        "name": claims[0].name,
        "claimed_by": [{"distribution": record.distribution, "version": record.version} for record in claims],
        "message": error.message,
        "hint": error.hint,
    }


def _printable(text: str) -> str:
    """Metadata is written by strangers: nothing in it may steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


# ------------------------------------------------------------------------------------------------ show


@command.command("show")
@click.argument("name", shell_complete=completing(lambda device: [r.distribution for r in device.plugins.records]))
@json_option
def show(name: str, as_json: bool) -> None:
    """Show what is known about the plugin or distribution NAME.

    Of its code, only the declaration of its options is imported.
    """
    device = current_device()
    inventory = take_inventory(device)
    wanted = canonical_name(name)
    entries = [
        entry for entry in inventory.entries if name == entry.record.name or wanted == entry.record.distribution
    ]
    if not entries:
        from difflib import get_close_matches

        near = get_close_matches(name, {entry.record.name for entry in inventory.entries}, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise PluginError(f"no installed plugin is called '{name}'", hint=f"{meant}`agentm plugins list` shows them")
    if as_json:
        echo_json(plugins=[{**_fields(e, {}), **_described(e.record), **_options(device, e.record)} for e in entries])
        return
    distributions: dict[str, list[Entry]] = {}
    for entry in entries:
        distributions.setdefault(entry.record.location, []).append(entry)
    for number, brought in enumerate(distributions.values()):
        if number:
            click.echo()
        _show_distribution(device, brought)


def _show_distribution(device: Device, entries: list[Entry]) -> None:
    """What it is, once; then a line for each thing that it brings, and for each option."""
    record = entries[0].record
    fields = {name: getattr(record, name) for name in ("distribution", "version", "location")}
    rows = [(key.replace("_", " "), _text(value)) for key, value in {**fields, **_described(record)}.items()]
    brings = [f"{_kind(e.record)} {e.record.name}: {e.record.value}{_standing(e)}" for e in entries]
    options = [line for entry in entries for line in _options(device, entry.record).get("options", ())]
    for label, lines in (("brings", brings), ("options", options)):
        rows += [(label if number == 0 else "", line) for number, line in enumerate(lines)]
    echo_table(("", ""), [(key, _printable(text)) for key, text in rows if text])


def _standing(entry: Entry) -> str:
    """What is to be said of an entry beside that it is there."""
    state = "selected" if entry.is_selected and entry.state == "available" else entry.state
    said = "" if state == "available" else f" ({state}{f': {entry.why}' if entry.why else ''})"
    return f"{said} (api {', '.join(entry.record.api)})" if entry.record.api else said


def _options(device: Device, record: PluginRecord) -> dict[str, Any]:
    """What a table of options declares; why not, if it cannot be loaded."""
    if record.group != OPTIONS:
        return {}
    from agentm_kernel.plugins.table import declared_options

    try:
        declared = declared_options(device, record.name) or ()
    except PluginError as error:
        return {"options": [error.message]}
    return {
        "options": [
            f"plugins.{record.name}.{option.name} ({option.kind}): {option.meaning}"
            + (f" (default: {option.default})" if option.default else "")
            for option in declared
        ]
    }


def _described(record: PluginRecord) -> dict[str, Any]:
    """What the distribution says about itself; of a folder that it cannot be read from (a zip archive), nothing."""
    from importlib.metadata import Distribution

    distribution = Distribution.at(record.location)
    if distribution.read_text("METADATA") is None and distribution.read_text("PKG-INFO") is None:
        return {}
    return {
        "summary": next(iter(distribution.metadata.get_all("Summary", [])), None),
        "requires": distribution.requires or [],
        "editable_from": _editable_source(distribution.read_text("direct_url.json")),
    }


def _editable_source(text: str | None) -> str | None:
    """Where the sources of an editable install lie."""
    import json

    try:
        origin = json.loads(text or "{}")
        return str(origin["url"]) if origin["dir_info"]["editable"] else None
    except (ValueError, KeyError, TypeError):
        return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(value) if isinstance(value, list) else str(value or "")
