"""Another place for a note: another name, another kind, another project. It is at the new place before it leaves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    ConflictCopies,
    LocatorConflictError,
    StorageError,
    content_hash,
    record_move,
)
from agentm_recall.editing import with_fields
from agentm_recall.layout import ALWAYS_LOAD_KIND
from agentm_recall.saving import stored_fields

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend


def move_note(
    backend: StorageBackend, source: Locator, target: Locator, *, kind: str, project: Locator | None
) -> None:
    """Move the note; `ConcurrentModificationError` if somebody changes it meanwhile: then it is at both places."""
    if not backend.capabilities.delete:
        raise StorageError(
            f"{backend.describe()} cannot remove a note, so none can be moved",
            hint="save it under the new name with --supersedes",
        )
    if backend.exists(target):
        raise LocatorConflictError(f"'{target}' exists already", hint="give another --slug")
    copies = backend.facet(ConflictCopies)
    for found in [*copies.conflict_copies(source), *copies.conflict_copies(target)] if copies else ():
        raise LocatorConflictError(
            f"'{found.copy}' is another version of '{found.note}', and would be one of another note then",
            hint="settle it first; `agentm vault conflicts` lists those of a vault",
        )
    current = backend.read(source)
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    fields = {"kind": kind, "updated": moment}
    if project is not None and kind != ALWAYS_LOAD_KIND:
        fields["project"] = project.name
    elif "project" in stored_fields(current):
        fields["project"] = ""  # it says nothing any more
    backend.write(target, with_fields(target.key, current, fields), if_match=ABSENT)
    record_move(backend, source, backend, target)
    try:
        backend.delete(source, if_match=content_hash(current))
    except ConcurrentModificationError as error:
        raise ConcurrentModificationError(
            f"'{source}' was changed while it was moved; it stays, and what it was is at '{target}'",
            hint="compare the two, then `agentm forget` one of them",
        ) from error
