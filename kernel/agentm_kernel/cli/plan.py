"""`agentm plan`: which plan this checkout works on."""

from __future__ import annotations

import click

from agentm_kernel.cli import shown
from agentm_kernel.cli.output import answering, completing, current_device, cwd_option, echo_json, json_option
from agentm_kernel.cli.state import tell_rest
from agentm_kernel.errors import ActivePlanError
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.state.plans import PLAN, clear_plan, list_plan_files, resolve_active_plan, use_plan
from agentm_kernel.state.routing import state_file_path


@click.group("plan")
def command() -> None:
    """List plans and choose the active one."""


@command.command("list")
@json_option
@cwd_option
def list_plans(as_json: bool, cwd: str | None) -> None:
    """List the project's plans; the active one has a star. Exit 1 if the marker of the active plan leads nowhere."""
    resolution = current_device().project(cwd)
    plans = list_plan_files(resolution)
    active, problem = None, None
    try:
        active = resolve_active_plan(resolution)[0]
    except ActivePlanError as error:
        problem = error
    if as_json:
        files = [{"file": plan, "path": path_as_text(state_file_path(resolution, plan))} for plan in plans]
        fields = {"project": resolution.slug, "active": active, "plans": files}
        if problem is None:
            echo_json(**fields, problem=None)
            return
        problem.details = {**fields, "problem": problem.message}  # the error's answer carries them: one object
    else:
        for plan in plans:
            click.echo(shown(f"{'*' if plan == active else ' '} {plan}"))
        if problem is None:
            tell_rest(resolution, plans, "no plan yet", "PLAN")
    if problem:
        raise problem


@command.command("use")
@click.argument("name", shell_complete=completing(lambda device: list_plan_files(device.project())))
@answering
@cwd_option
def use(name: str, cwd: str | None, answer: dict[str, str]) -> None:
    """Make NAME (foo for PLAN-foo.md) the active plan of this checkout."""
    answer["active"] = use_plan(current_device().project(cwd, read_only=False), name)
    click.echo(answer["active"])


@command.command("clear")
@answering
@cwd_option
def clear(cwd: str | None, answer: dict[str, str]) -> None:
    """Go back to PLAN.md."""
    clear_plan(current_device().project(cwd, read_only=False))
    answer["active"] = PLAN
    click.echo(PLAN)
