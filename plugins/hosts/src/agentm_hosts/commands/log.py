"""`agentm log`: what agents were told."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import click

from agentm_hosts.connecting import adapter_named, adapters
from agentm_hosts.ledger import ledger_path
from agentm_hosts.settling import count_damaged, settle
from agentm_kernel.command import counted, current_device, echo_json, echo_table, json_option

if TYPE_CHECKING:
    from agentm_hosts.settling import Delivery

_SHOWN = 3


@click.command()
@click.option("--session", metavar="ID", help="Only one session; the beginning of its name will do.")
@click.option("--host", metavar="HOST", help="Only one agent host.")
@click.option("--limit", default=50, show_default=True, metavar="N", help="So many lines at most, the newest.")
@json_option
def command(session: str | None, host: str | None, limit: int, as_json: bool) -> None:
    """Show what agents were told on this device: when, by which hook, which notes, and whether it arrived.

    No prompt and no text is kept, only a receipt of each.
    """
    device = current_device()
    asked = adapters(device) if host is None else [adapter_named(device, host)]
    lines = [
        line
        for adapter in asked
        for line in settle(device, adapter, seconds=1.0)
        if session is None or line.session.startswith(session)
    ]
    damaged = {adapter.name: count_damaged(device, adapter.name) for adapter in asked}
    for name in filter(damaged.get, damaged):
        where = ledger_path(device.state_dir, name)
        click.echo(f"{counted(damaged[name], 'line')} of {where} cannot be read, and not shown", err=True)
    lines = sorted(lines, key=lambda line: line.time)[-max(1, limit) :]
    if as_json:
        echo_json(lines=[{**asdict(line), "stores": line.stores} for line in lines])
        return
    if not lines:
        if any(damaged.values()):
            click.echo("what agents were told cannot be read")
        else:
            is_all = host is None and session is None
            click.echo("no agent was told anything yet" if is_all else "nothing like that was told")
        return
    echo_table(
        ("time", "host", "session", "event", "notes", "status"),
        [
            (
                f"{datetime.fromtimestamp(line.time).astimezone():%Y-%m-%d %H:%M:%S}",
                line.host,
                line.session[:8],
                line.event,
                _notes(line),
                line.status,
            )
            for line in lines
        ],
    )


def _notes(line: Delivery) -> str:
    """The first few by name, each with its store where more than one is involved."""
    names = [os.path.basename(key) for key in line.notes[:_SHOWN]]
    if line.store:
        names = [f"{name} ({store})" for name, store in zip(names, line.stores, strict=False)]
    return ", ".join(names) + (f" and {len(line.notes) - _SHOWN} more" if len(line.notes) > _SHOWN else "")
