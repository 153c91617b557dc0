"""`agentm plugins`: what is installed, and whether it works."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from agentm_kernel.cli.output import Answer, KernelGroup, completing, counted, echo_table, nearest
from agentm_kernel.cli.plugin_inventory import Entry, take_inventory
from agentm_kernel.device.installed import OPTIONS, VERIFIERS, PluginRecord, canonical_name, is_hook_plugin, kind_of
from agentm_kernel.errors import PluginError, one_line
from agentm_kernel.plugins.table import conflict, declared_options, load_plugin
from agentm_kernel.state import Device

Verified = dict[PluginRecord, dict[str, Any]]
"""What came of loading each plugin: `state`, `reason` and `capabilities`."""

command = KernelGroup("plugins", help="Show which plugins are installed, and whether they work.")


@command.answering("list")
@click.option("--verify", is_flag=True, help="Also load each plugin, in a process of its own for 5 seconds at most.")
@click.option("--entries", is_flag=True, help="A line for each thing that a plugin brings, not for each plugin.")
def list_command(device: Device, verify: bool, entries: bool, answer: Answer) -> int:
    """List every installed plugin, what it brings, which store is selected and why, and what is in conflict.

    Nothing is imported, so a broken plugin cannot get in the way; --verify (of agentm-devkit) loads each in a process
    of its own, and exits 1 if one is broken.
    """
    found, conflicts, notes = take_inventory(device)
    verified: Verified = {}
    if verify:  # what the policy keeps out is not loaded for a look, either
        verifier: Any = load_plugin(device, VERIFIERS, "plugins")
        verified = verifier([entry.record for entry in found if entry.state != "disabled"])
    if answer.is_wanted:
        plugins = [_fields(entry, verified) for entry in found]
        answer.update(plugins=plugins, conflicts=[_conflict_fields(claims) for claims in conflicts], notes=notes)
    else:
        headings, *rows = _by_entry(found, verified) if verify or entries else _by_plugin(found)
        echo_table(headings, [[one_line(cell) for cell in row] for row in rows])
        for line in _remarks(conflicts, notes, verified):  # what concerns more than one row: the table stays a table
            click.echo(one_line(line), err=True)
    return int(any(result["state"] != "ok" for result in verified.values()))


def _fields(entry: Entry, verified: Verified) -> dict[str, Any]:
    record = entry.record
    fields = {name: getattr(record, name) for name in ("group", "value", "distribution", "version", "location")}
    chosen = {"api": list(record.api), "state": entry.state, "selected": entry.is_selected, "why": entry.why}
    outcome = {"verified": verified[record]} if record in verified else {}
    return {"name": record.name, "kind": kind_of(record.group), **fields, **chosen, **outcome}


def _conflict_fields(claims: list[PluginRecord]) -> dict[str, Any]:
    owners = [{"distribution": record.distribution, "version": record.version} for record in claims]
    error, name = conflict(claims), {"group": claims[0].group, "name": claims[0].name}
    return {**name, "claimed_by": owners, "message": error.message, "hint": error.hint}


def _by_plugin(found: list[Entry]) -> Iterator[list[str]]:
    """A row for each distribution, and one more for each of its entries that is not as it should be."""
    yield ["plugin", "version", "state", "brings"]
    distributions = _grouped(found, lambda entry: (entry.record.distribution, entry.record.version))
    for (name, version), entries in sorted(distributions.items()):
        good = [entry for entry in entries if entry.state == "available"]
        selected = [f"{entry.record.name} {entry.why}" for entry in good if entry.is_selected]
        if good:
            yield [name, version, "selected" if selected else "available", ", ".join(selected or _brought(good))]
        for entry in entries:
            if entry.state != "available":
                yield [name, version, entry.state, f"{entry.kind} {entry.record.name}: {entry.why}"]


def _brought(entries: list[Entry]) -> Iterator[str]:
    """What a plugin brings, on one line: stores, layers and a few commands by name, the rest counted."""
    plain = [entry for entry in entries if entry.record.group != OPTIONS]
    for kind, brought in _grouped(plain, lambda e: "hook" if is_hook_plugin(e.record) else e.kind).items():
        if kind in ("backend", "command", "wrapper") and len(brought) < 3:
            yield f"{kind} {', '.join(entry.record.name for entry in brought)}"
        else:
            yield counted(len(brought), kind)


def _by_entry(found: list[Entry], verified: Verified) -> Iterator[list[str]]:
    """Columns that tell nothing are left out: what loads, if nothing was loaded; where, if all is in one folder."""
    has_folders = len({os.path.dirname(entry.record.location) for entry in found}) > 1
    first = ["kind", "name", "distribution", "version", "state"]
    yield [*first, *["loads"] * bool(verified), "why", *["installed in"] * has_folders]
    for entry in found:
        record = entry.record
        row = [entry.kind, record.name, record.distribution, record.version, entry.standing]
        row += [_loads(verified.get(record))] * bool(verified) + [entry.why or ""]
        yield row + [os.path.dirname(record.location)] * has_folders


def _loads(result: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    if result["state"] != "ok" or result["capabilities"] is None:
        return str(result["state"])
    return f"ok: {', '.join(result['capabilities']) or 'no capabilities'}"


def _remarks(conflicts: list[list[PluginRecord]], notes: list[str], verified: Verified) -> Iterator[str]:
    for error in map(conflict, conflicts):
        yield f"conflict: {error.message}"
        yield f"hint: {error.hint}"
    for note in notes:
        yield f"note: {note}"
    for result in verified.values():
        if result["reason"]:
            yield f"{'note' if result['state'] == 'ok' else result['state']}: {result['reason']}"


def _grouped(entries: Iterable[Entry], key: Callable[[Entry], Any]) -> dict[Any, list[Entry]]:
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


@command.answering("show")
@click.argument("name", shell_complete=completing(lambda device: [r.distribution for r in device.plugins.records]))
def show(device: Device, name: str, answer: Answer) -> None:
    """Show what is known about the plugin or distribution NAME.

    Of its code, only the declaration of its options is imported.
    """
    known, _, _ = take_inventory(device)
    wanted = canonical_name(name)
    entries = [entry for entry in known if name == entry.record.name or wanted == entry.record.distribution]
    if not entries:
        near = nearest(name, {entry.record.name for entry in known})
        meant = f"did you mean {near}? " if near else ""
        raise PluginError(f"no installed plugin is called '{name}'", hint=f"{meant}`agentm plugins list` shows them")
    if answer.is_wanted:
        answer.update(
            plugins=[{**_fields(e, {}), **_described(e.record), **_options(device, e.record)} for e in entries]
        )
        return
    for number, brought in enumerate(_grouped(entries, lambda entry: entry.record.location).values()):
        if number:
            click.echo()
        _show_distribution(device, brought)


def _show_distribution(device: Device, entries: list[Entry]) -> None:
    """What it is, once; then a line for each thing that it brings, and for each option."""
    record = entries[0].record
    fields = {name: getattr(record, name) for name in ("distribution", "version", "location")}
    known = {**fields, **_described(record)}.items()
    rows = [(name.replace("_", " "), "; ".join(value) if isinstance(value, list) else value) for name, value in known]
    brings = [f"{e.kind} {e.record.name}: {e.record.value}{_standing(e)}" for e in entries]
    options = [line for entry in entries for line in _options(device, entry.record).get("options", ())]
    for label, lines in (("brings", brings), ("options", options)):
        rows += [(label if number == 0 else "", line) for number, line in enumerate(lines)]
    echo_table(("", ""), [(label, one_line(text)) for label, text in rows if text])


def _standing(entry: Entry) -> str:
    """What is to be said of an entry beside that it is there."""
    why = f": {entry.why}" if entry.why else ""
    said = "" if entry.standing == "available" else f" ({entry.standing}{why})"
    return f"{said} (api {', '.join(entry.record.api)})" if entry.record.api else said


def _options(device: Device, record: PluginRecord) -> dict[str, Any]:
    """What a table of options declares; why not, if it cannot be loaded."""
    if record.group != OPTIONS:
        return {}
    try:
        declared = declared_options(device, record.name) or ()
    except PluginError as error:
        return {"options": [error.message]}
    lines = []
    for option in declared:
        default = f" (default: {option.default})" if option.default else ""
        lines.append(f"plugins.{record.name}.{option.name} ({option.kind}): {option.meaning}{default}")
    return {"options": lines}


def _described(record: PluginRecord) -> dict[str, Any]:
    """What the distribution says about itself; of a folder that it cannot be read from (a zip archive), nothing."""
    import json
    from importlib.metadata import Distribution

    distribution = Distribution.at(record.location)
    if distribution.read_text("METADATA") is None and distribution.read_text("PKG-INFO") is None:
        return {}
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        source = str(origin["url"]) if origin["dir_info"]["editable"] else None
    except (ValueError, KeyError, TypeError):
        source = None  # not an editable install, whose sources lie elsewhere
    summary = next(iter(distribution.metadata.get_all("Summary", [])), None)
    return {"summary": summary, "requires": distribution.requires or [], "editable_from": source}
