"""`agentm documenter-context`: everything that writing a project's documentation needs."""

from __future__ import annotations

import click

from agentm_kernel.command import echo_json, json_option
from agentm_recall.commands.common import cwd_option, store_and_project
from agentm_recall.documenter import resolve_documenter_context


@click.command("documenter-context")
@click.option("--slug", help="Another project than the one of this directory.")
@cwd_option
@json_option
def command(slug: str | None, cwd: str | None, as_json: bool) -> None:
    """Print how to write and what was decided: conventions, wiki style, decisions and the project's own page."""
    backend, project, _ = store_and_project(slug, cwd, read_only=True)
    bundle = resolve_documenter_context(project, backend=backend)
    if as_json:
        echo_json(**bundle)
        return
    click.echo(f"# Documenting {project}{'' if bundle['registered'] else ' (not registered)'}")
    if bundle["project_anchor"]:
        click.echo(f"\n## The project\n\n{bundle['project_anchor'].strip()}")
    for name in ("operator_conventions", "global_wiki_style", "wiki_style", "project_decisions"):
        for item in bundle[name]:
            click.echo(f"\n## {name.replace('_', ' ')}: {item['name']}\n\n{item['body'].strip()}")
    for key, why in bundle["problems"].items():
        click.echo(f"{key}: {why}", err=True)
