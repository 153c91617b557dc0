"""`agentm connect` and `agentm disconnect`."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from agentm_hosts.connecting import (
    adapter_named,
    adapters,
    carry_out_all,
    connected_scopes,
    disconnecting_plans,
    hooks_of_the_project,
    is_here,
    place_for,
    plan_for,
    unrecorded_receipts,
)
from agentm_hosts.files.recognition import command_of
from agentm_kernel.command import answering, completing, confirm, counted, current_device, terminal_width, wrapped
from agentm_kernel.plugin import AgentmError, Call, PluginError

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_hosts.files.connections import Plan
    from agentm_hosts.place import Place
    from agentm_kernel.plugin import Device

    Answer = dict[str, Any]

_KINDS = ("hook", "MCP server", "setting", "own file", "restored file")

_scope = click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    help="For all of your projects, or in this repository for everybody who works in it.",
    show_default=True,
)
_dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")


@click.command()
@click.argument("hosts", nargs=-1, metavar="[HOST]...", shell_complete=completing("agentm.hosts"))
@_scope
@click.option("--no-hooks", is_flag=True, help="Leave the hooks out.")
@click.option("--no-mcp", is_flag=True, help="Leave the memory tools (MCP) out.")
@click.option("--replace", is_flag=True, help="Replace the entries of another installed agentm.")
@_dry_run
@click.option("--yes", is_flag=True, expose_value=False, help="For scripts; nothing is asked in any case.")
@answering
def connect(
    hosts: tuple[str, ...],
    scope: str,
    no_hooks: bool,
    no_mcp: bool,
    replace: bool,
    dry_run: bool,
    answer: Answer,
) -> int:
    """Connect agent hosts (Claude Code, Codex, Gemini CLI …) to this memory; without HOST, all that are installed.

    Their settings files get a few entries; every other byte stays, and `agentm disconnect` puts the files back.
    """
    device = current_device()
    place = place_for(device, scope, hooks=not no_hooks, mcp=not no_mcp)
    chosen = chosen_hosts(device, hosts, place)
    if not chosen:
        words = "claude-code" if scope == "user" else f"claude-code --scope {scope}"
        raise AgentmError("no agent host is installed here", hint=f"name one: `agentm connect {words}`")
    return connect_all(chosen, place, answer, replace=replace, dry_run=dry_run)


@click.command()
@click.argument("hosts", nargs=-1, metavar="[HOST]...", shell_complete=completing("agentm.hosts"))
@_scope
@_dry_run
@click.option("--yes", is_flag=True, help="Without HOST: do not ask.")
@answering
def disconnect(hosts: tuple[str, ...], scope: str, dry_run: bool, yes: bool, answer: Answer) -> int:
    """Take agentm out of the settings of agent hosts again; without HOST, of all that are connected.

    Without HOST, you see what will change and are asked; without a terminal nobody is.

    A file that nobody has changed since is byte for byte what it was; in others only our entries go.
    """
    device = current_device()
    place = place_for(device, scope)
    names = hosts or tuple(
        adapter.name
        for adapter in adapters(device)
        if scope in connected_scopes(device.state_dir, adapter.name) or unrecorded_receipts(adapter, place)
    )
    if not names:
        click.echo("no agent host is connected")
    failed = 0
    answer.update(dry_run=dry_run, hosts=[])
    planned: list[HostAdapter] = []
    for adapter in [adapter_named(device, name) for name in dict.fromkeys(names)]:
        try:
            show(disconnecting_plans(adapter, place), dry_run=dry_run)
            planned.append(adapter)
        except AgentmError as error:
            failed = _say_failure(adapter, "still connected", error, answer)
    if planned and not (hosts or dry_run) and sys.stdin.isatty():
        confirm(f"Disconnect {counted(len(planned), 'agent host')}?", yes=yes)
    for adapter in planned:
        try:
            plans = disconnecting_plans(adapter, place)  # once more: two hosts may share a file
            if not dry_run:
                carry_out_all(place, adapter.name, plans)
        except AgentmError as error:
            failed = _say_failure(adapter, "still connected", error, answer)
            continue
        done = f"{'would be ' if dry_run else ''}disconnected" if plans else "not connected"
        answer["hosts"].append({"host": adapter.name, "outcome": done, "files": _files(plans)})
        click.echo(f"{adapter.title}: {done}")
    return failed


def chosen_hosts(device: Device, names: tuple[str, ...], place: Place) -> list[HostAdapter]:
    """The hosts that were named, or those that are here: in a project also those that the user has."""
    if names:
        return [adapter_named(device, name) for name in dict.fromkeys(names)]
    places = (place, dataclasses.replace(place, project=None))
    return [adapter for adapter in adapters(device) if any(is_here(adapter, each) for each in places)]


def connect_all(chosen: list[HostAdapter], place: Place, answer: Answer, *, replace: bool, dry_run: bool) -> int:
    """Each by itself: what is wrong with one is said, and the others are connected."""
    failed = 0
    answer.update(dry_run=dry_run, hosts=[])
    for adapter in chosen:
        try:
            plans = plan_for(adapter, place, replace=replace)
            show(plans, dry_run=dry_run)
            if not dry_run:
                carry_out_all(place, adapter.name, plans)
        except AgentmError as error:
            failed = _say_failure(adapter, "not connected", error, answer)
            continue
        done, steps, notes = _outcome(plans, dry_run=dry_run), [], []
        if plans and not dry_run:
            try:
                with Call(f"adapter '{adapter.name}'", "saying what is left to do"):
                    steps = list(adapter.open_steps(place))
                    notes = [*adapter.advice(place), *hooks_of_the_project(adapter, place)]
            except PluginError as error:  # it is connected all the same
                notes = [error.message]
        answer["hosts"].append(
            {"host": adapter.name, "outcome": done, "files": _files(plans), "still_to_do": steps, "notes": notes}
        )
        click.echo(f"{adapter.title}: {done}")
        for step in steps:
            say(f"still to do: {step}", "  ")
        for line in notes:
            say(f"note: {line}", "  ")
    return failed


def _outcome(plans: list[Plan], *, dry_run: bool) -> str:
    if not plans:
        return "has nothing to connect here"
    if not any(plan.is_change for plan in plans):
        return "is connected already"
    return "would be connected" if dry_run else "connected"


def _files(plans: list[Plan]) -> list[str]:
    return [plan.path for plan in plans if plan.is_change]


def say(sentence: str, indent: str = "") -> None:
    """A sentence, which a terminal gets in lines that end with a word."""
    is_seen = sys.stdout.isatty()
    for number, line in enumerate(wrapped(sentence, terminal_width() - len(indent) - 2) if is_seen else [sentence]):
        click.echo(f"{indent}{'  ' * bool(number)}{line}")


def planned_changes(chosen: list[HostAdapter], place: Place) -> str:
    """What connecting would put into files, counted: "5 hooks, 1 MCP server"; nothing where no file would change."""
    plans: list[Plan] = []
    for adapter in chosen:
        with suppress(AgentmError):  # said when it is connected
            plans += [plan for plan in plan_for(adapter, place) if plan.is_change]
    counts = Counter(kind for plan in plans for kind in _kinds(plan))
    return ", ".join(f"{counts[kind]} {kind}{'s' * (counts[kind] > 1)}" for kind in _KINDS if counts[kind])


def _kinds(plan: Plan) -> list[str]:
    if not plan.connects:
        return ["restored file"]
    if plan.receipt.format == "text":
        return ["own file"]
    started = (command_of(entry["value"]).partition(" ")[0] for entry in plan.receipt.entries)
    return [{"hook": "hook", "mcp": "MCP server"}.get(verb, "setting") for verb in started] or ["setting"]


def _say_failure(adapter: HostAdapter, what: str, error: AgentmError, answer: Answer) -> int:
    answer["hosts"].append(
        {"host": adapter.name, "outcome": what, "files": [], "error": error.message, "hint": error.hint}
    )
    click.echo(f"{adapter.title}: {what}: {error.message}", err=True)
    if error.hint:
        click.echo(f"  {error.hint}", err=True)
    return 1


def show(plans: list[Plan], *, dry_run: bool) -> None:
    """The files, and for a dry run what changes in them. Only changed lines and what is beside them are shown."""
    for plan in plans:
        for note in plan.notes:
            click.echo(f"  {note}")
        if not plan.is_change:
            continue
        click.echo(
            f"  {'removes' if plan.new is None else 'changes' if plan.old is not None else 'makes'} {plan.path}"
        )
        if dry_run:
            old, new = (plan.old or "").splitlines(), (plan.new or "").splitlines()
            for line in difflib.unified_diff(old, new, plan.path, plan.path, lineterm="", n=1):
                click.echo(f"    {line}")
