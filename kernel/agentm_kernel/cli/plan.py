"""`agentm plan`: which plan this checkout works on."""

from __future__ import annotations

import click

from agentm_kernel.cli.output import echo_json, json_option
from agentm_kernel.cli.state import cwd_option, resolve
from agentm_kernel.errors import ActivePlanError
from agentm_kernel.state.plans import active_marker, clear_plan, list_plan_files, plan_files, use_plan
from agentm_kernel.state.routing import state_file_path


@click.group("plan")
def command() -> None:
    """List plans and choose the active one."""


@command.command("list")
@json_option
@cwd_option
def list_plans(as_json: bool, cwd: str | None) -> None:
    """List the project's plans; the active one has a star."""
    resolution = resolve(cwd, read_only=True)
    plans = list_plan_files(resolution)
    marker = active_marker(resolution)
    active = plan_files(marker or "")[0]
    if as_json:
        echo_json(
            project=resolution.slug,
            active=active,
            marker=marker,
            plans=[{"file": plan, "path": state_file_path(resolution, plan)} for plan in plans],
        )
        return
    for plan in plans:
        click.echo(f"{'*' if plan == active else ' '} {plan}")
    if marker is not None and active not in plans:
        raise ActivePlanError(
            f"the active-plan marker names {active}, which is not there",
            hint="run `agentm plan use NAME`, or `agentm plan clear`",
        )


@command.command("use")
@click.argument("name")
@cwd_option
def use(name: str, cwd: str | None) -> None:
    """Make NAME (foo for PLAN-foo.md) the active plan of this checkout."""
    click.echo(use_plan(resolve(cwd, read_only=False), name))


@command.command("clear")
@cwd_option
def clear(cwd: str | None) -> None:
    """Go back to PLAN.md."""
    clear_plan(resolve(cwd, read_only=False))
