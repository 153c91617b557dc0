"""Another place for a note: another name, another kind, another project. It is at the new place before it leaves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    ConflictCopies,
    Locator,
    LocatorConflictError,
    StorageError,
    content_hash,
    read_or_none,
    record_move,
)
from agentm_recall.editing import with_fields
from agentm_recall.layout import ALWAYS_LOAD_KIND, project_of
from agentm_recall.lookup import note_files
from agentm_recall.note import ACTIVE, SUPERSEDED, parse_note
from agentm_recall.note_format import FORMAT
from agentm_recall.saving import stored_fields
from agentm_recall.supersession import superseded_keys

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.front_matter import Fields


def move_note(
    backend: StorageBackend, source: Locator, target: Locator, *, kind: str, project: Locator | None
) -> None:
    """Move the note; `ConcurrentModificationError` if somebody changes it meanwhile: then it is at both places.

    One that others have replaced says so itself from then on, for they name the slug that it had. A move that was cut
    off is finished by the same move.
    """
    if not backend.capabilities.delete:
        raise StorageError(
            f"{backend.describe()} cannot remove a note, so none can be moved",
            hint="save it under the new name with --supersedes",
        )
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
    if _is_hidden(backend, source):
        fields["status"] = SUPERSEDED
    wanted = with_fields(target.key, current, fields)
    held = read_or_none(backend, target)
    if source == target or (held is not None and _said(held) != _said(wanted)):
        raise LocatorConflictError(f"'{target}' exists already", hint="give another --slug")
    if parse_note(target.key, wanted)[0].status == ACTIVE:
        _refuse_hidden(backend, source, target, wanted)
    if held is None:
        backend.write(target, wanted, if_match=ABSENT)
    record_move(backend, source, backend, target)
    try:
        backend.delete(source, if_match=content_hash(current))
    except ConcurrentModificationError as error:
        raise ConcurrentModificationError(
            f"'{source}' was changed while it was moved; it stays, and what it was is at '{target}'",
            hint="compare the two, then `agentm forget` one of them",
        ) from error


def _said(text: str) -> tuple[Fields, str]:
    """Everything but the time of the change."""
    return {**stored_fields(text), "updated": ""}, parse_note("note.md", text)[1]


def _is_hidden(backend: StorageBackend, key: Locator) -> bool:
    """Whether sessions are not given the note, only because others say that they have replaced it."""
    notes = [parse_note(name, text)[0] for name, text in _beside(backend, key).items()]
    replaced = superseded_keys(notes)
    return any(note.key == key.key and note.status == ACTIVE and note.key in replaced for note in notes)


def _refuse_hidden(backend: StorageBackend, source: Locator, target: Locator, text: str) -> None:
    """Refuse a place where the note would be taken for another one that was replaced, or would replace one."""
    others = _beside(backend, target)
    for key in (source.key, target.key):
        others.pop(key, None)
    for hidden, by in FORMAT.hidden_together({target.key: text}, others).items():
        raise LocatorConflictError(
            f"there, '{hidden}' would be hidden: '{by}' has replaced another note of that name",
            hint="give another --slug" if hidden == target.key else "take the name out of its `supersedes` first",
        )


def _beside(backend: StorageBackend, key: Locator) -> dict[str, str]:
    """The notes among which one is replaced by another: those of its project, or those of none."""
    folder = Locator("/".join(key.parts[:2])) if project_of(key.key) else Locator(key.parts[0])
    files = (info.locator for info in note_files(backend, folder))
    return {file.key: text for file in files if (text := read_or_none(backend, file)) is not None}
