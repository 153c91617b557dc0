"""Another text for a note, on condition that it still is the one that was read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel.plugin import ConcurrentModificationError, Locator, content_hash
from agentm_recall.layout import PERSONAL, project_of, slug_of
from agentm_recall.lookup import note_files
from agentm_recall.note import DELETED, SUPERSEDED, parse_note
from agentm_recall.saving import REINFORCED, Draft, check_supersession, set_status, settled
from agentm_recall.supersession import names

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend


def replace_text(backend: StorageBackend, target: Locator, text: str, expect: str) -> bool:
    """Whether anything had to be changed; `ConcurrentModificationError` unless the note's hash is `expect`.

    A note that says so already is left, whatever its hash: somebody was cut off after the change and repeats it.

    Front matter stays as it is, but for fields that `text` brings and for the time of the change.
    """
    current = backend.read(target)
    note, _ = parse_note(target.key, current)
    outcome, wanted = replaced(target, current, text)
    if outcome == REINFORCED and note.status not in (DELETED, SUPERSEDED):
        return False
    refuse_if_changed(target, current, expect)
    refuse_if_replaced(backend, target, note.kind, text)
    backend.write(target, wanted, if_match=expect)
    return True


def refuse_if_changed(target: Locator, current: str, expect: str) -> None:
    if content_hash(current) != expect:
        raise ConcurrentModificationError(f"'{target}' was changed since it was read")


def replaced(target: Locator, current: str, text: str) -> tuple[str, str]:
    """What becomes of the note that says `current`: the outcome, and all that it says then."""
    draft = Draft(parse_note(target.key, current)[0].kind, slug_of(target.key), text)
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    return settled(draft, target, _project(target), current, moment, replace=True)


def refuse_if_replaced(backend: StorageBackend, target: Locator, kind: str, text: str) -> None:
    """Refuse a text for a note that another one has replaced, unless the text replaces that one in turn."""
    draft = Draft(kind, slug_of(target.key), text)
    check_supersession(backend, draft, target, _project(target), replace=True)


def mark_superseded(backend: StorageBackend, target: Locator, text: str) -> list[Locator]:
    """Mark the notes that `text`, which is the note's now, says it replaces, and return those that were not marked.

    Only by their whole names: that was said a while ago, and one that is gone since needs no mark.
    """
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    replaced = parse_note(target.key, text)[0].supersedes
    listed = note_files(backend, _project(target) or Locator(PERSONAL)) if replaced else ()
    others = [info.locator for info in listed if info.locator != target]
    marked = []
    for name in replaced:
        found = [locator for locator in others if names(name, locator.key)]
        if len(found) == 1 and set_status(backend, found[0], SUPERSEDED, moment):
            marked.append(found[0])
    return marked


def _project(target: Locator) -> Locator | None:
    return Locator("/".join(target.parts[:2])) if project_of(target.key) else None
