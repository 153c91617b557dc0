"""Saying of a note that it proved right, or that it seems wrong, in its front matter. Its text stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

from agentm_kernel.plugin import InvalidContentError, NotFoundError, refuse_secrets, update
from agentm_recall.editing import with_fields
from agentm_recall.note import DELETED, SUPERSEDED, parse_note

if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend

CONFIRM, DOUBT = "confirm", "doubt"
_SURE, _UNSURE = 0.9, 0.3


def judge(backend: StorageBackend, target: Locator, verdict: str, reason: str = "") -> None:
    """Change the note at `target` as `judged` has it, without losing anyone's edit."""

    def edited(current: str | None) -> str:
        if current is None:
            raise NotFoundError(f"'{target}' is gone")
        return judged(target, current, verdict, reason)

    update(backend, target, edited)


def judged(target: Locator, text: str, verdict: str, reason: str) -> str:
    """The text with `verified` and a high confidence, or `doubted` and a low one: then it comes after others."""
    refuse_secrets("the reason", reason)
    if not reason.isprintable():
        raise InvalidContentError("the reason is one short line")
    note, _ = parse_note(target.key, text)
    if note.status in (DELETED, SUPERSEDED):
        became, way_out = "replaced", f"`agentm recall-here --why {quote(note.slug)}` names the note that counts"
        if note.status == DELETED:
            way_out = f"bring it back first: `agentm notes edit {quote(note.slug)}`, and write `status: active`"
            became = "forgotten"
        raise InvalidContentError(
            f"'{target}' was {became}, so no session is given it, whatever is said about it", hint=way_out
        )
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    changes = {"confidence": f"{_SURE:g}", "verified": moment}
    if verdict == DOUBT:
        changes = {"confidence": f"{_UNSURE:g}", "doubted": moment}
    if reason:
        changes["confidence_reason"] = reason
    return with_fields(target.key, text, changes)
