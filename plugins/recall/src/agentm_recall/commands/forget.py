"""`agentm forget`: make a note unheard without losing it."""

from __future__ import annotations

import click

from agentm_kernel.command import echo_json, json_option
from agentm_recall.commands.common import cwd_option, found_note, project_option
from agentm_recall.commands.names import name_argument
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.saving import FORGOTTEN, forget_note


@click.command("forget")
@name_argument
@project_option
@cwd_option
@json_option
def command(name: str, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Mark the note NAME (a slug, the end of its path, or a part that only one note has) as deleted.

    It is no longer recalled or found. The file stays where it is, so nothing is lost: saving it again with --update
    brings it back.
    """
    backend, locator = found_note(name, project, cwd, read_only=False)
    done = forget_note(backend, locator)
    RecallIndex(backend).note_written([locator])
    if as_json:
        echo_json(key=locator.key, outcome=done.outcome)
    else:
        click.echo(f"forgot {locator}" if done.outcome == FORGOTTEN else f"{locator} is forgotten already")
