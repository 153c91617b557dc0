"""How a note is named on the command line: one way for every command, with completion."""

from __future__ import annotations

import click

from agentm_kernel.command import current_device
from agentm_kernel.plugin import AgentmError

_MOST = 200


def _complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names that begin like this, from the index as it is."""
    from agentm_recall.index.database import Database, IndexUnavailable
    from agentm_recall.index.place import NoPlace, index_path

    try:
        here = current_device().memory(context.params.get("cwd"), read_only=True).in_the_store()
        if here.backend is None:
            return []
        project = context.params.get("project") or here.slug
        with Database.open(index_path(here.backend), read_only=True) as database:
            return database.slugs(project, incomplete, _MOST)
    except (AgentmError, NoPlace, IndexUnavailable):
        return []


name_argument = click.argument("name", shell_complete=_complete)
"""A slug, the end of a path, a whole key, or a part that only one note has."""
