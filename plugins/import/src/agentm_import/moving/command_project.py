"""`agentm project rename` and `agentm project merge`."""

from __future__ import annotations

import click

from agentm_import.moving.projects import merge_projects, rename_project
from agentm_kernel.command import current_device, echo_json, json_option


@click.command("rename")
@click.argument("old")
@click.argument("new")
@json_option
def rename(old: str, new: str, as_json: bool) -> None:
    """Give the project OLD the name NEW in the store. A command that was cut off is finished by running it again."""
    moved = rename_project(current_device().store(read_only=False), old, new)
    if as_json:
        echo_json(project=new, renamed_from=old, moved=moved)
    else:
        click.echo(f"{old} is {new} now; {moved} files moved")


@click.command("merge")
@click.argument("source", metavar="FROM")
@click.argument("into")
@json_option
def merge(source: str, into: str, as_json: bool) -> None:
    """Put everything of the project FROM under INTO, which is both from now on.

    Files of one name and different text are both kept. A command that was cut off is finished by running it again.
    """
    moved = merge_projects(current_device().store(read_only=False), source, into)
    if as_json:
        echo_json(project=into, merged=source, moved=moved)
    else:
        click.echo(f"{source} is part of {into} now; {moved} files moved")
