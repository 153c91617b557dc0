"""`agentm doctor`: what selection would do, in the same words, and what plugins have to say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from agentm_kernel.cli.output import echo_json, json_option, status_style
from agentm_kernel.cli.plugin_inventory import take_inventory
from agentm_kernel.config.read import load
from agentm_kernel.errors import AgentmError, CapabilityMismatchError, ConfigError
from agentm_kernel.host.scan import conflict
from agentm_kernel.host.values import DoctorRow, HookContext
from agentm_kernel.seam.values import Capabilities
from agentm_kernel.selection.open import Refusal, inspect, select_backend, storage_preview

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command("doctor")
@click.option(
    "--requires",
    metavar="NAMES",
    help="Also fail unless the store has these capabilities, separated by commas: "
    + ", ".join(Capabilities.__slots__),
)
@json_option
def command(requires: str | None, as_json: bool) -> int:
    """Check this installation: configuration, selected store, plugins. Changes nothing.

    Exits 1 if anything fails; warnings do not count.
    """
    required = _capabilities(requires)
    rows = [*_config_rows(), *_storage_rows(required), *_plugin_rows()]
    if as_json:
        echo_json(rows=[{"status": r.status, "check": r.check, "message": r.message, "hint": r.hint} for r in rows])
    else:
        for row in rows:
            _show(row)
    return int(any(row.status == "fail" for row in rows))


def _capabilities(names: str | None) -> Capabilities | None:
    if names is None:
        return None
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in Capabilities.__slots__]
    if unknown:
        raise click.UsageError(
            f"unknown capabilities: {', '.join(unknown)}; there are {', '.join(Capabilities.__slots__)}"
        )
    return Capabilities(**dict.fromkeys(wanted, True))


def _config_rows() -> Iterator[DoctorRow]:
    try:
        config = load(os.environ)
    except ConfigError as error:
        yield _failure("config", error)
        return
    state = "" if config.is_present else " (not there: defaults apply)"
    if config.is_legacy:
        state = " (of an older install; the next `agentm config set` moves it)"
    yield DoctorRow("ok", "config", f"{config.path}{state}", None)


def _storage_rows(required: Capabilities | None) -> Iterator[DoctorRow]:
    found = inspect(read_only=False)
    if isinstance(found, Refusal):
        yield _failure("storage", found.error)
        return
    preview = storage_preview()
    yield DoctorRow(preview.status, "storage", preview.line, None)
    if required is None:
        return
    try:
        select_backend(required=required)
    except CapabilityMismatchError as error:
        yield _failure("capabilities", error)
    else:
        names = ", ".join(name for name in Capabilities.__slots__ if getattr(required, name))
        yield DoctorRow(
            "ok", "capabilities", f"backend '{preview.protocol}' satisfies {names or 'no requirement'}", None
        )


def _plugin_rows() -> Iterator[DoctorRow]:
    inventory = take_inventory(os.environ)
    for claims in inventory.conflicts:
        yield _failure("plugins", conflict(claims))
    for entry in inventory.entries:
        if entry.state in ("incompatible", "unknown"):
            yield DoctorRow("warn", "plugins", f"the {entry.record} is not used: {entry.why}", None)
    for line in inventory.unreadable:
        yield DoctorRow("warn", "plugins", f"metadata cannot be read: {line}", None)
    yield from _hook_rows()


def _hook_rows() -> Iterator[DoctorRow]:
    from agentm_kernel.host.manager import current_context, installed_plugins

    here = current_context()
    found = inspect(read_only=False)
    store = None if isinstance(found, Refusal) else found.backend
    host = installed_plugins(HookContext(here.surroundings, here.cwd, here.config, store))
    yield from host.doctor_checks()
    for failure in host.failures:
        yield DoctorRow("fail", "plugins", failure.message, failure.hint)


def _failure(check: str, error: AgentmError) -> DoctorRow:
    return DoctorRow("fail", check, error.message, error.hint)


def _show(row: DoctorRow) -> None:
    click.echo(f"{status_style(row.status.upper().ljust(4))}  {row.check:<12}  {row.message}")
    if row.hint:
        click.echo(f"{'':<20}hint: {row.hint}")
