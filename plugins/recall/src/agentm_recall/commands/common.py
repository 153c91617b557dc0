"""What the commands share: which store, which project, and a progress bar."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel import resolve_project
from agentm_kernel.command import current_device
from agentm_kernel.plugin import AgentmError
from agentm_recall.layout import project_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_kernel.plugin import Info, Locator, StorageBackend
    from agentm_recall.note import Note

project_option = click.option("--project", metavar="SLUG", help="Another project than the one of this directory.")
cwd_option = click.option("--cwd", metavar="DIR", help="Directory of the project; the current one if not given.")


def store_and_project(
    project: str | None, cwd: str | None, *, read_only: bool
) -> tuple[StorageBackend, str, Locator]:
    """The store, the project that is meant, and the project's folder."""
    if project is not None:
        backend = current_device().store(read_only=read_only)
        return backend, project, project_folder(backend, project)
    here = resolve_project({"cwd": cwd} if cwd else {}, device=current_device(), read_only=read_only)
    if here.backend is not None and here.project_locator is not None:
        return here.backend, here.slug, here.project_locator
    # Mode `local` keeps the project's state in its own folder; notes are not state.
    backend = current_device().store(read_only=read_only)
    return backend, here.slug, project_folder(backend, here.slug)


def catch_up(backend: StorageBackend) -> None:
    """Bring the index of a store elsewhere up to date from one listing. Without that, an empty answer would mean
    nothing: a store that does not answer, or an index that cannot be kept, is an error.
    """
    from agentm_recall.index.database import IndexUnavailable
    from agentm_recall.index.maintenance import RecallIndex

    try:
        RecallIndex(backend).update(bar)
    except IndexUnavailable as error:
        raise AgentmError(
            f"the notes of {backend.describe()} cannot be listed: their index on this device cannot be used: {error}",
            hint="run `agentm reindex`",
        ) from error


def bar(label: str, items: Sequence[Info]) -> Iterable[Info]:
    """A progress bar on standard error, where a person looks."""
    if not sys.stderr.isatty() or len(items) < 200:
        yield from items
        return
    with click.progressbar(items, label=label, file=sys.stderr) as shown:
        yield from shown


def as_json(note: Note) -> dict[str, Any]:
    """A note's fields, for `--json`."""
    return {
        "key": note.key,
        "slug": note.slug,
        "kind": note.kind,
        "status": note.status,
        "title": note.title,
        "tags": list(note.tags),
        "project": note.project,
        "created": note.created,
        "updated": note.updated,
        "source": note.source,
        "confidence": note.confidence,
        "supersedes": list(note.supersedes),
        "problem": note.problem,
    }
