"""`agentm reindex`: build the index anew."""

from __future__ import annotations

import click

from agentm_kernel.command import counted, echo_json, json_option, store_device
from agentm_kernel.plugin import AgentmError
from agentm_recall.commands.common import bar
from agentm_recall.index.database import IndexUnavailable
from agentm_recall.index.maintenance import RecallIndex


@click.command("reindex")
@click.option("--update", "update_only", is_flag=True, help="Only index what has changed.")
@json_option
def command(update_only: bool, as_json: bool) -> None:
    """Build the index of the store's notes anew, from the notes.

    It lies in the cache directory. Searching keeps it up to date, so this is for repairs and for the first time on a
    large store.
    """
    index = RecallIndex(store_device().store())
    try:
        changes = index.update(bar, wait=10.0) if update_only else index.rebuild(bar)
    except IndexUnavailable as error:
        raise AgentmError(
            f"the index was not built: {error}", hint="notes and searches work without it, only slower"
        ) from error
    for why in () if as_json else changes.unlisted:
        click.echo(f"some notes are not in the index: {why}", err=True)
    if as_json:
        echo_json(
            index=index.path(),
            looked_at=changes.looked_at,
            indexed=changes.indexed,
            removed=changes.removed,
            unlisted=list(changes.unlisted),
        )
    else:
        click.echo(
            f"indexed {counted(changes.indexed, 'note')}, removed {changes.removed}; the index is {index.path()}"
        )
