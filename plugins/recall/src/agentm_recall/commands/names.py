"""How a note is named on the command line: one way for every command, with completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel.command import current_device
from agentm_kernel.plugin import AgentmError
from agentm_recall.commands.common import store_and_project
from agentm_recall.lookup import find_note, folders_of

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend

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


def named(name: str, project: str | None, cwd: str | None, *, read_only: bool) -> tuple[StorageBackend, str, Locator]:
    """The store, the project, and the note that is meant."""
    backend, slug, _ = store_and_project(project, cwd, read_only=read_only)
    return backend, slug, find_note(backend, name, folders_of(backend, slug))
