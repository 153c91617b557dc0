"""Repositories that have two names in a store: devices claimed them before they met, and each goes on with its own.

That happens where each device has all of the store, as a clone or a synced folder, encrypted or not. Where all ask
one store, each name has one record from the beginning.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import records
from agentm_recall.index.place import is_elsewhere

if TYPE_CHECKING:
    from agentm_kernel.plugin import ProjectRecord, StorageBackend


class Torn(NamedTuple):
    """Two names of one repository."""

    said: str
    way_out: str
    """What to run, and what else it does."""


def torn_projects(store: StorageBackend) -> list[Torn]:
    """One listing, and one small read for each project."""
    if is_elsewhere(store):
        return []
    known: dict[str, list[ProjectRecord]] = {}
    for record in [record for record in records(store) if record.elsewhere is None]:
        for remote in record.remotes:
            known.setdefault(remote, []).append(record)
    return [_torn(remote, other, into) for remote, there in known.items() for other, into in _pairs(there)]


def _pairs(there: list[ProjectRecord]) -> list[tuple[ProjectRecord, ProjectRecord]]:
    """What to merge into what. Never a name that others have too into one that they do not have: it would take all
    of theirs along.
    """
    *others, into = sorted(there, key=lambda record: (len(record.remotes), record.slug))
    return [(other, into) for other in others]


def _torn(remote: str, other: ProjectRecord, into: ProjectRecord) -> Torn:
    strangers = ", ".join(each for each in into.remotes if each not in other.remotes)
    shared = f"; {strangers} has the name '{into.slug}' too, and is shown them then" if strangers else ""
    return Torn(
        f"{remote} has notes under '{other.slug}' and under '{into.slug}', and no session is shown both",
        f"run `agentm project merge {quote(other.slug)} {quote(into.slug)}`, which brings them together{shared}",
    )
