"""`agentm plugins check`: does an installed plugin keep its contract? The kit for stores, and checks of each kind."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from agentm_devkit.scratch import PLACEHOLDER, ScratchLayer, ScratchStore
from agentm_kernel.command import current_device, echo_json, echo_table, json_option, styled
from agentm_kernel.plugin import BACKENDS, PluginError, find_plugin, load_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_devkit.conformance import Report, Result, Subject
    from agentm_kernel.plugin import Device, Option, PluginRecord

KINDS = {
    "backend": BACKENDS,
    "wrapper": "agentm.wrappers",
    "host": "agentm.hosts",
    "importer": "agentm.importers",
    "tool": "agentm.tools",
    "command": "agentm.commands",
    "hooks": "agentm.plugins",
}
"""Kinds of plugins and their groups; a name that several have means the first."""
_STORES = ("backend", "wrapper")
_OPTIONS = "agentm.options"


@click.command("check")
@click.argument("name", required=False)
@click.option(
    "--kind",
    type=click.Choice(tuple(KINDS)),
    metavar="KIND",
    help=f"Which plugin, if several kinds have one of that name: {', '.join(KINDS)}.",
)
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help=f"An option of the plugin; {PLACEHOLDER} in the value stands for an empty folder. May be repeated.",
)
@click.option(
    "--env",
    "variables",
    metavar="VARIABLE",
    multiple=True,
    help="Pass this environment variable on. May be repeated.",
)
@click.option(
    "--only", "only", metavar="CHECK", multiple=True, help="Run this check or group of checks. May be repeated."
)
@click.option("--list", "only_list", is_flag=True, help="List the checks and what each wants, without running any.")
@json_option
def command(
    name: str | None,
    kind: str | None,
    options: tuple[str, ...],
    variables: tuple[str, ...],
    only: tuple[str, ...],
    only_list: bool,
    as_json: bool,
) -> int:
    """Check that the plugin NAME keeps its contract, in scratch folders: a store, a wrapper, an adapter of a host, an
    importer, a tool, a command or hooks.

    Your own store is not touched: neither its configuration nor the environment reaches the plugin. Exits 1 if a
    check fails.
    """
    if name is None and not only_list:
        raise click.UsageError("name a plugin, or list the checks with --list")
    records, kind = _find(name, kind) if name is not None else ([], kind or "backend")
    checks = _selected(kind, only)
    if only_list:
        _list(checks, as_json)
        return 0
    if options and kind not in _STORES:
        raise click.UsageError(f"--option is for stores and wrappers: {records[0].name} ({kind}) is opened with none")
    report = _run(records, kind, checks, _options(records[0].name, options), _environment(variables))
    if as_json:
        echo_json(plugin=name, kind=kind, ok=report.ok, results=[_fields(result) for result in report.results])
    else:
        _show(records[0].name, report)
    return int(not report.ok)


def _find(name: str, kind: str | None) -> tuple[list[PluginRecord], str]:
    """The plugin that is meant, and its kind. One that listens to several hooks is listed for each."""
    device = current_device()
    for candidate in KINDS:
        if kind in (None, candidate) and (records := records_of(device, candidate, name)):
            return records, candidate
    wanted = kind or "backend"
    try:
        return [find_plugin(device, KINDS[wanted], name)], wanted
    except PluginError as error:  # which says what is installed of one kind, and what to run
        if kind is None:
            names = [near for each in KINDS for near in _names(device, each)]
            close = get_close_matches(name, names, 1)
            error.message = f"no installed plugin is called '{name}'"
            meant = f"did you mean `agentm plugins check {close[0]}`? " if close else ""
            error.hint = f"{meant}`agentm plugins list` shows them"
        raise


def _names(device: Device, kind: str) -> list[str]:
    return sorted({record.name for record in device.plugins.records if _is_in(record, KINDS[kind])})


def records_of(device: Device, kind: str, name: str) -> list[PluginRecord]:
    """Every entry point that makes `name` a plugin of this kind."""
    group = KINDS[kind]
    groups = {record.group for record in device.plugins.records if record.name == name and _is_in(record, group)}
    return [find_plugin(device, each, name) for each in sorted(groups)]


def _is_in(record: PluginRecord, group: str) -> bool:
    return record.group == group or (group == KINDS["hooks"] and record.group.startswith(f"{group}."))


# ------------------------------------------------------------------------------------------------ checks


def _checks_of(kind: str) -> tuple[Any, ...]:
    if kind in _STORES:
        from agentm_devkit.conformance import all_checks

        return all_checks()
    from agentm_devkit.kinds.checking import checks_of

    return checks_of(kind)


def _selected(kind: str, only: tuple[str, ...]) -> tuple[Any, ...]:
    from agentm_devkit.conformance.runner import selected

    try:
        return selected(only or None, _checks_of(kind))
    except ValueError as error:
        raise click.UsageError(f"{error}; `agentm plugins check --kind {kind} --list` lists them") from None


def _list(checks: Sequence[Any], as_json: bool) -> None:
    if as_json:
        echo_json(checks=[{"check": c.name, "group": c.group, "contract": c.contract} for c in checks])
    else:
        echo_table(("check", "wants"), [(f"{check.group}/{check.name}", check.contract) for check in checks])


def _run(
    records: list[PluginRecord], kind: str, checks: Sequence[Any], options: dict[str, object], environ: dict[str, str]
) -> Report:
    bar: Any
    with click.progressbar(
        length=len(checks) * len(records),
        label=f"checking {records[0].name}",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        item_show_func=lambda check: getattr(check, "name", ""),
    ) as bar:

        def on_start(check: Any) -> None:
            bar.current_item = check
            bar.render_progress()  # `update` shows nothing until a step is done

        def on_result(_: Result) -> None:
            bar.update(1)

        if kind in _STORES:
            from agentm_devkit.conformance import run

            subject = _subject(records[0], kind, options, environ)
            return run(subject, checks=checks, on_start=on_start, on_result=on_result)
        from agentm_devkit.conformance import Report
        from agentm_devkit.kinds.checking import run_checks

        reports = [run_checks(checks, each, environ, on_start=on_start, on_result=on_result) for each in records]
        return Report(tuple(result for report in reports for result in report.results))


def _subject(record: PluginRecord, kind: str, options: dict[str, object], environ: dict[str, str]) -> Subject:
    from agentm_devkit.conformance import LayerSubject, Subject

    secrets = tuple(
        value for value in environ.values() if len(value) >= 6
    )  # what is passed on is mostly a credential
    with tempfile.TemporaryDirectory(prefix="agentm-check-") as folder:
        place = os.path.realpath(folder)
        if kind == "wrapper":
            layer = ScratchLayer(record, options, environ)
            changes = layer.check_opens(place)
            return LayerSubject(layer, secrets=secrets, wrap=layer.wrap, changes=changes)
        store = ScratchStore(record, options, environ)
        store.check_opens(place)
        return Subject(store, secrets=secrets)


# ------------------------------------------------------------------------------------------------ words


def _options(plugin: str, given: Iterable[str]) -> dict[str, object]:
    """What `--option` gives, read as `config set` would read it for this plugin."""
    device = current_device()
    declares = any(record.name == plugin for record in device.plugins.of(_OPTIONS))
    found: Any = load_plugin(device, _OPTIONS, plugin) if declares else ()
    declared: dict[str, Option] = {option.name: option for option in found}
    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--option takes NAME=VALUE, not '{text}'")
        option = declared.get(name)
        options[name] = _value(value, option.kind if option else "any")
        if option is not None:
            option.check(plugin, options[name])
    return options


def _value(text: str, kind: str) -> object:
    if kind in ("text", "path"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _environment(variables: Iterable[str]) -> dict[str, str]:
    missing = [name for name in variables if name not in os.environ]
    if missing:
        raise click.UsageError(f"not set in this environment: {', '.join(missing)}")
    return {name: os.environ[name] for name in variables}


def _show(name: str, report: Report) -> None:
    from agentm_devkit.conformance.runner import names_of, number_of, one_reason

    words = {"failed": styled("FAIL", fg="red"), "warned": styled("WARN", fg="yellow")}
    for results in report.shared:
        click.echo(f"{words['failed']}  {one_reason(results)}\n      in {names_of(results)}")
    for result in report.single:
        click.echo(f"{words[result.outcome]}  {names_of((result,))}: {result.detail}")
        if result.where:
            click.echo(f"      at {result.where}")
    for results in report.skipped:
        click.echo(f"SKIP  {number_of(results)}: {results[0].detail}")
    click.echo(f"{name}: {report.counts}")


def _fields(result: Result) -> dict[str, object]:
    return {
        "check": result.check.name,
        "group": result.check.group,
        "outcome": result.outcome,
        "detail": result.detail,
        "where": result.where,
        "seconds": round(result.seconds, 3),
    }
