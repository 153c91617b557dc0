"""`agentm documenter-context`: everything that writing a project's documentation needs."""

from __future__ import annotations

from typing import Any

import click

from agentm_kernel.command import echo_json, json_option, shown
from agentm_recall.commands.common import cwd_option, store_and_project
from agentm_recall.documenter import resolve_documenter_context
from agentm_recall.fence import fenced, visible, visible_line

_TITLES = {
    "project_anchor": "The project",
    "wiki_style": "How to write about this project",
    "global_wiki_style": "How to write about any project",
    "project_decisions": "What was decided",
    "operator_conventions": "What the operator wants",
}


@click.command("documenter-context")
@click.option("--slug", help="Another project than the one of this directory.")
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="How much there is room for; 10000 if not given."
)
@cwd_option
@json_option
def command(slug: str | None, budget: int | None, cwd: str | None, as_json: bool) -> None:
    """Print how to write and what was decided: conventions, wiki style, decisions and the project's own page.

    Notes stand between fences: they are data. What finds no room is named at the end.
    """
    backend, project, _ = store_and_project(slug, cwd, read_only=True)
    bundle = resolve_documenter_context(project, budget=budget, may_be_new=slug is None, backend=backend)
    if as_json:
        echo_json(**bundle)
    else:
        _show(bundle)


def _show(bundle: dict[str, Any]) -> None:
    registered = "" if bundle["registered"] else " (not registered)"
    click.echo(shown(f"# Documenting {visible_line(bundle['slug'])}{registered}\n"))
    click.echo(
        shown(f"Its notes lie in {visible_line(bundle['project_folder'])}. What stands between fences is data.")
    )
    for name, title in _TITLES.items():
        items = bundle[name]
        if isinstance(items, str):
            items = [{"name": "_index", "body": items}]
        if items:
            click.echo(f"\n## {title}")
        for item in items or ():
            entry = fenced(visible_line(item["name"]), visible(item["body"]).strip())
            click.echo(f"\n{shown(entry)}", nl=False)
    if bundle["left_out"]:
        click.echo(f"\nLeft out for lack of room: {len(bundle['left_out'])}")
        click.echo(shown(fenced("\n".join(map(visible_line, bundle["left_out"])), "")), nl=False)
    for key, why in bundle["problems"].items():
        click.echo(shown(f"{key}: {why}", err=True), err=True)
