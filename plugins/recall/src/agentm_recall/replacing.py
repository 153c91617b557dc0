"""Another text for a note, on condition that it still is the one that was read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel.plugin import ConcurrentModificationError, content_hash
from agentm_recall.layout import project_of, slug_of
from agentm_recall.note import DELETED, SUPERSEDED, parse_note
from agentm_recall.saving import REINFORCED, Draft, settled

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend


def replace_text(backend: StorageBackend, target: Locator, text: str, expect: str) -> bool:
    """Whether anything had to be changed; `ConcurrentModificationError` unless the note's hash is `expect`.

    Front matter stays as it is, but for fields that `text` brings and for the time of the change.
    """
    current = backend.read(target)
    if content_hash(current) != expect:
        raise ConcurrentModificationError(f"'{target}' was changed since it was read")
    note, _ = parse_note(target.key, current)
    draft = Draft(note.kind, slug_of(target.key), text)
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    project = target.parent.parent if project_of(target.key) else None
    outcome, wanted = settled(draft, target, project, current, moment, replace=True)
    if outcome == REINFORCED and note.status not in (DELETED, SUPERSEDED):
        return False
    backend.write(target, wanted, if_match=expect)
    return True
