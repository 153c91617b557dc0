"""`agentm import`: bring in what another tool remembers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_import.contract import detect_all, names
from agentm_import.importing import Import
from agentm_import.planning import CREATE, SKIP, UNCHANGED, UPDATE
from agentm_kernel.command import (
    completing,
    confirm,
    counted,
    current_device,
    echo_json,
    echo_table,
    json_option,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_import.planning import Plan, Step

_ROWS = 40
"""Rows of the plan on a terminal; `--dry-run` shows all of them."""


@click.command("import")
@click.argument("source", required=False, shell_complete=completing("agentm.importers"))
@click.argument("path", required=False, default="")
@click.option("--project", metavar="NAME", help="The project for everything that is not personal.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="THEIRS=OURS",
    help="A project of the source and its name here; nothing after = is personal.",
)
@click.option("--keep-names", is_flag=True, help="Unknown projects keep the names that they have in the source.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before writing.")
@json_option
def command(
    source: str | None,
    path: str,
    project: str | None,
    maps: tuple[str, ...],
    keep_names: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Bring in what another tool remembers.

    Without SOURCE, show which memories of other tools are on this device. PATH is where the tool keeps them, if that
    is not its usual place. The source is only read. A second import adds what is new or changed, and nothing twice.
    Everything that looks like a secret stays behind and is listed.
    """
    if source is None:
        _show_sources(as_json=as_json)
        return
    device = current_device()
    can_ask = sys.stdin.isatty() and sys.stderr.isatty() and not as_json and not yes
    job = Import(
        device,
        source,
        path,
        project=project,
        mapped=_mapped(maps),
        keep_names=keep_names,
        ask=_ask if can_ask else None,
        dry_run=dry_run,
    )
    for name in job.unused_maps:
        said = f"nothing in the source is of a project '{shown(name, err=True)}', so --map has moved nothing for it"
        click.echo(said, err=True)
    if dry_run:
        _report(source, job.plan, as_json=as_json, done=False)
    else:
        done = _carry_out(job, can_ask=can_ask, as_json=as_json)
        _report(source, done, as_json=as_json, done=True)
        if done.problems:
            sys.exit(1)


def _carry_out(job: Import, *, can_ask: bool, as_json: bool) -> Plan:
    waiting = job.plan.of(CREATE, UPDATE)
    if not as_json and sys.stdout.isatty():
        _table(job.plan.of(CREATE, UPDATE, SKIP)[:_ROWS])
        if len(job.plan.of(CREATE, UPDATE, SKIP)) > _ROWS:
            click.echo(f"… and {len(job.plan.of(CREATE, UPDATE, SKIP)) - _ROWS} more: --dry-run shows all")
    if waiting and can_ask:
        confirm(f"Write {counted(len(waiting), 'note')}?", yes=False)
    return job.carry_out(_bar)


def _bar(steps: Sequence[Step]) -> Iterable[Step]:
    """A progress bar on standard error, where a person looks."""
    if not sys.stderr.isatty() or len(steps) < 200:
        yield from steps
        return
    with click.progressbar(steps, label="importing", file=sys.stderr) as shown_steps:
        yield from shown_steps


def _mapped(maps: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in maps:
        theirs, equals, ours = pair.partition("=")
        if not equals or not theirs:
            raise click.UsageError(f"--map needs THEIRS=OURS, not {pair!r}")
        found[theirs] = ours
    return found


def _ask(project: str) -> str | None:
    """Asked once per project; an empty answer leaves its memories behind."""
    click.echo(f"The source has memories of '{shown(project, err=True)}', which this store does not know.", err=True)
    answer: str = click.prompt(
        "Its name here (- for personal, empty to leave it)", default="", show_default=False, err=True
    )
    if answer.strip() == "-":
        return ""
    return answer.strip() or None


# ------------------------------------------------------------------------------------------------ answers


def _show_sources(*, as_json: bool) -> None:
    device = current_device()
    found, failures = detect_all(device)
    if as_json:
        echo_json(
            sources=names(device),
            found=[
                {"source": name, "label": label, "path": place.path, "count": place.memories, "what": place.what}
                for name, label, place in found
            ],
            failures=failures,
        )
        return
    for failure in failures:
        click.echo(shown(failure, err=True), err=True)
    if found:
        rows = [
            (name, str(place.memories), place.what, place.path, f"agentm import {name}") for name, _, place in found
        ]
        echo_table(("source", "count", "of", "where", "run"), rows)
    else:
        click.echo("No memories of other tools were found in their usual places.")
        click.echo(f"Sources: {', '.join(names(device))}. Give one, and the path.")
    if os.path.isfile("CLAUDE.md"):  # of a project; those of all projects on the device nobody can list
        click.echo("CLAUDE.md here: `agentm import claude-code .` brings it in")


def _report(source: str, plan: Plan, *, as_json: bool, done: bool) -> None:
    if as_json:
        echo_json(source=source, done=done, counts=dict(plan.counts()), items=[_as_json(step) for step in plan.steps])
        return
    if not done:
        _table(plan.steps)
    for step in plan.problems:
        for line in step.secrets or (step.reason,):
            click.echo(f"{shown(step.origin, err=True)}: {shown(line, err=True)}", err=True)
    counts = plan.counts()
    words = {CREATE: "new", UPDATE: "changed", UNCHANGED: "unchanged", SKIP: "left out"}
    summary = (
        ", ".join(f"{counts[action]} {word}" for action, word in words.items() if counts[action]) or "nothing there"
    )
    click.echo(f"{'imported from' if done else 'would import from'} {source}: {summary}")
    if plan.problems:
        click.echo(f"memories that stay behind, each with its reason above: {len(plan.problems)}", err=True)


def _table(steps: Sequence[Step]) -> None:
    rows = []
    for step in steps:
        item = step.item
        kind = item.kind if item is not None and step.key else ""
        origin = step.origin if step.count == 1 else f"{step.origin} ({step.count})"
        rows.append(
            (origin[:60], step.action, step.key or "-", kind, (item.project or "") if item else "", step.reason)
        )
    echo_table(("source item", "action", "note", "kind", "project there", "why"), rows)


def _as_json(step: Step) -> dict[str, Any]:
    return {
        "origin": step.origin,
        "action": step.action,
        "key": step.key or None,
        "kind": step.item.kind if step.item else None,
        "project": step.item.project if step.item else None,
        "reason": step.reason or None,
        "problem": step.is_problem,
        "count": step.count,
        "secrets": list(step.secrets),
    }
