"""`agentm plan`: which plan this checkout works on."""

from __future__ import annotations

import click

from agentm_kernel.cli import shown
from agentm_kernel.cli.output import Answer, KernelGroup, completing
from agentm_kernel.cli.state import tell_rest
from agentm_kernel.errors import ActivePlanError
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.state import Device
from agentm_kernel.state.plans import PLAN, clear_plan, list_plan_files, resolve_active_plan, use_plan
from agentm_kernel.state.routing import state_file_path

command = KernelGroup("plan", help="List plans and choose the active one.")


@command.answering("list")
def list_plans(device: Device, cwd: str | None, answer: Answer) -> None:
    """List the project's plans; the active one has a star. Exit 1 if the marker of the active plan leads nowhere."""
    resolution = device.project(cwd)
    plans = list_plan_files(resolution)
    active, problem = None, None
    try:
        active = resolve_active_plan(resolution)[0]
    except ActivePlanError as error:
        problem = error
    if answer.is_wanted:
        files = [{"file": plan, "path": path_as_text(state_file_path(resolution, plan))} for plan in plans]
        answer.update(project=resolution.slug, active=active, plans=files, problem=problem and problem.message)
    else:
        for plan in plans:
            click.echo(shown(f"{'*' if plan == active else ' '} {plan}"))
        if problem is None:
            tell_rest(resolution, plans, "no plan yet", "PLAN")
    if problem:
        raise problem


@command.answering("use")
@click.argument("name", shell_complete=completing(lambda device: list_plan_files(device.project())))
def use(device: Device, name: str, cwd: str | None, answer: Answer) -> None:
    """Make NAME (foo for PLAN-foo.md) the active plan of this checkout."""
    plan = use_plan(device.project(cwd, read_only=False), name)
    answer.tell(plan, active=plan)


@command.answering("clear")
def clear(device: Device, cwd: str | None, answer: Answer) -> None:
    """Go back to PLAN.md."""
    clear_plan(device.project(cwd, read_only=False))
    answer.tell(PLAN, active=PLAN)
