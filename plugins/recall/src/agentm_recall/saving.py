"""Saving a note, changing its mind, and forgetting it: the only writers of this plugin.

Every change goes through the kernel's `update`, so no edit by another session or a person is ever lost. What looks
like a secret is refused before the store is asked for anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    read_or_none,
    refuse_secrets,
    update,
)
from agentm_recall.bodies import Body
from agentm_recall.editing import with_body, with_fields
from agentm_recall.front_matter import find_block, read_fields
from agentm_recall.layout import ALWAYS_LOAD_KIND, KINDS, PERSONAL, place_of
from agentm_recall.lookup import find_note, note_files
from agentm_recall.note import ACTIVE, DELETED, SUPERSEDED, is_date, parse_note
from agentm_recall.rendering import new_text
from agentm_recall.supersession import claims, names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.front_matter import Fields

CREATED, REINFORCED, UPDATED, UNCHANGED, FORGOTTEN = "created", "reinforced", "updated", "unchanged", "forgotten"

_LONGEST_SLUG = 80


@dataclass(frozen=True)
class Draft:
    """A note that is to be saved."""

    kind: str
    slug: str
    body: str
    tags: tuple[str, ...] = ()
    source: str = "agent"
    confidence: float | str | None = None
    """How sure its author is, from 0 to 1 or in words."""
    confidence_reason: str | None = None
    supersedes: tuple[str, ...] = ()
    """Slugs, or parts of paths that tell notes of one slug apart."""
    stale_after: str = ""
    """The day after which it should be checked again."""


@dataclass(frozen=True)
class Saved:
    """What became of a draft."""

    locator: Locator
    outcome: str
    superseded: tuple[Locator, ...] = field(default=())
    """The notes that were marked as replaced."""


def save_note(
    backend: StorageBackend,
    draft: Draft,
    *,
    project: Locator | None,
    replace: bool = False,
    allow_secrets: bool = False,
    now: datetime | None = None,
) -> Saved:
    """Save `draft` in the project whose folder is `project`, or as a personal note.

    A body may bring front matter of its own, as a note that was printed and edited does: its fields are merged.

    The same body again reinforces the note that is there. Another body is refused unless `replace` is given, and so
    is a note that was forgotten. `allow_secrets` is for text that only looks like a secret.
    """
    check_draft(draft, allow_secrets=allow_secrets)
    place = place_of(draft.kind, draft.slug, project)
    replaced = check_supersession(backend, draft, place, project, replace=replace)
    moment = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    outcome = UNCHANGED

    def edited(current: str | None) -> str:
        nonlocal outcome
        outcome, text = settled(draft, place, project, current, moment, replace=replace)
        return text

    update(backend, place, edited)
    marked = tuple(locator for locator in replaced if set_status(backend, locator, SUPERSEDED, moment))
    return Saved(place, outcome, marked)


def check_supersession(
    backend: StorageBackend, draft: Draft, place: Locator, project: Locator | None, *, replace: bool
) -> tuple[Locator, ...]:
    """The notes that the draft replaces; refused if one is not there, or if another note has replaced this one."""
    scope = Locator(PERSONAL) if project is None or draft.kind == ALWAYS_LOAD_KIND else project
    replaced = tuple(find_note(backend, name, [scope]) for name in draft.supersedes)
    if place in replaced:
        raise InvalidContentError(f"'{place}' cannot supersede itself")
    if replace:
        _refuse_replaced(backend, place, scope, draft)
    return replaced


def forget_note(backend: StorageBackend, locator: Locator, *, now: datetime | None = None) -> Saved:
    """Mark the note as deleted. Its file stays: whoever wants it back sets the status again."""
    moment = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    changed = set_status(backend, locator, DELETED, moment)
    return Saved(locator, FORGOTTEN if changed else UNCHANGED)


def check_draft(draft: Draft, *, allow_secrets: bool = False) -> None:
    """Refuse, before any store is touched, what must never be written."""
    if draft.kind not in KINDS:
        raise InvalidContentError(
            f"there is no kind of note called {draft.kind!r}", hint=f"kinds: {', '.join(KINDS)}"
        )
    if not Body(draft.body).text.strip():
        raise InvalidContentError("the note has no text", hint="`agentm save TEXT`, or give it on standard input")
    check_slug(draft.slug)
    if isinstance(draft.confidence, int | float) and not 0 <= draft.confidence <= 1:
        raise InvalidContentError(
            f"a confidence is between 0 and 1, not {draft.confidence:g}",
            hint="give a number such as 0.8, or leave it out",
        )
    if draft.stale_after and not is_date(draft.stale_after):
        raise InvalidContentError(
            f"stale-after is a day such as 2026-03-31, not {draft.stale_after!r}",
            hint="give the year, the month and the day",
        )
    words = draft.confidence if isinstance(draft.confidence, str) else ""
    for text in (*draft.tags, draft.source, draft.confidence_reason or "", words):
        if len(text) > 200 or not (text.isprintable() or not text):
            raise InvalidContentError(f"a field of the front matter is one short line, not {text[:60]!r}")
    if not allow_secrets:
        refuse_secrets("the note", draft.body)
        fields = (draft.slug, *draft.tags, draft.source, draft.confidence_reason or "", words)
        refuse_secrets("a field of the note", "\n".join(fields))


def check_slug(slug: str) -> None:
    """Refuse what is not a few words with hyphens between them."""
    if 0 < len(slug) <= _LONGEST_SLUG and slug == slugify(slug):
        return
    suggestion = slugify(slug)[:_LONGEST_SLUG].strip("-")
    raise InvalidContentError(
        f"{slug!r} is not a slug: lower-case letters, digits and hyphens, at most {_LONGEST_SLUG}",
        hint=f"try {suggestion!r}" if suggestion else "name the fact in a few words with hyphens between them",
    )


def slugify(text: str) -> str:
    """The words of `text` with hyphens between them."""
    kept = "".join(character if character.isalnum() else " " for character in text.lower())
    return "-".join(kept.split())


# ------------------------------------------------------------------------------------------------ one note


def settled(
    draft: Draft, place: Locator, project: Locator | None, current: str | None, moment: str, *, replace: bool
) -> tuple[str, str]:
    """What saving the draft means for the text that is stored now: the outcome, and the text to store."""
    own = Body(draft.body)
    stored = stored_fields(current or "")
    refuse_dead(own, stored)
    if current is None:
        return CREATED, _new_note(draft, place, project, moment, own)
    note, body = parse_note(place.key, current)
    changes = own.changes(stored)
    has_same_text = _plain(body) == _plain(own.text)
    is_same = has_same_text and not changes
    if not replace and (not is_same or note.status in (DELETED, SUPERSEDED)):
        raise _taken(place, note.status if is_same else None)
    fields = {**changes, **_changed_fields(draft, note.tags, note.supersedes, moment)}
    if note.status in (DELETED, SUPERSEDED):
        fields["status"] = ACTIVE
    text = current if has_same_text else with_body(current, _with_final_newline(own.text))
    return REINFORCED if is_same else UPDATED, with_fields(place.key, text, fields)


def _new_note(draft: Draft, place: Locator, project: Locator | None, moment: str, own: Body) -> str:
    """A note's first text. Front matter that the body brought stays as it is, with what is missing added to it."""
    fields = _new_fields(draft, project, moment)
    if not own.has_block:
        return new_text(fields, _with_final_newline(own.text))
    given = {"kind", "project", "updated", *_judgement(draft)}
    wanted = {name: value for name, value in fields.items() if name in given or name not in own.fields}
    tags = own.fields.get("tags", [])
    if draft.tags and "tags" in own.fields:
        wanted["tags"] = tuple(dict.fromkeys((*([tags] if isinstance(tags, str) else tags), *draft.tags)))
    return with_fields(place.key, _with_final_newline(own.whole), wanted)


def with_given_fields(draft: Draft, place: Locator) -> str:
    """The body with what was said beside it as front matter of its own, for one who saves it later."""
    own = Body(draft.body)
    fields: dict[str, str | Sequence[str]] = {**_judgement(draft)}
    for name, given in (("tags", draft.tags), ("supersedes", draft.supersedes)):
        brought = own.fields.get(name, [])
        if given:
            fields[name] = tuple(dict.fromkeys((*([brought] if isinstance(brought, str) else brought), *given)))
    if draft.source != Draft.source:
        fields["source"] = draft.source
    if not fields:
        return draft.body
    return with_fields(place.key, own.whole, fields) if own.has_block else new_text(fields, own.text)


def refuse_dead(own: Body, stored: Fields) -> None:
    """Refuse a text that would be saved and then shown to nobody, unless that is what the note says already."""
    status = str(own.changes(stored).get("status", "")).lower()
    if status in (DELETED, SUPERSEDED):
        raise InvalidContentError(
            f"the front matter of the text says that it is {status}, so no session would be given it",
            hint="leave `status` out of it; to take a note out of memory, the operator runs `agentm forget NAME`",
        )


def _refuse_replaced(backend: StorageBackend, place: Locator, scope: Locator, draft: Draft) -> None:
    """Refuse to make a note current again as long as another one claims to replace it: nobody would be given it."""
    note = parse_note(place.key, read_or_none(backend, place) or "")[0]
    if note.status not in (DELETED, SUPERSEDED):
        return
    answered = (*draft.supersedes, *parse_note(place.key, draft.body)[0].supersedes)
    for info in note_files(backend, scope):
        other = parse_note(info.locator.key, read_or_none(backend, info.locator) or "")[0]
        if claims(other, note) and not any(names(reference, other.key) for reference in answered):
            raise LocatorConflictError(
                f"'{place}' was replaced by '{info.locator}', so no session would be given it",
                hint=f"add --supersedes {quote(other.slug)} to replace that one in turn, or "
                f"`agentm forget {quote(other.slug)}`",
            )


def stored_fields(text: str) -> Fields:
    block = find_block(text)
    return read_fields(text[block.start : block.end])[0] if block is not None else {}


def _taken(place: Locator, status: str | None) -> LocatorConflictError:
    if status is not None:
        return LocatorConflictError(
            f"'{place}' says the same but is {status}", hint="add --update to make it current again"
        )
    return LocatorConflictError(
        f"'{place}' exists and says something else",
        hint="add --update to replace it, or choose another slug and --supersedes to keep both",
    )


def _new_fields(draft: Draft, project: Locator | None, moment: str) -> dict[str, str | Sequence[str]]:
    fields: dict[str, str | Sequence[str]] = {"kind": draft.kind, "status": ACTIVE}
    if draft.tags:
        fields["tags"] = draft.tags
    if project is not None and draft.kind != ALWAYS_LOAD_KIND:
        fields["project"] = project.name
    fields |= {"created": moment, "updated": moment, "source": draft.source}
    fields |= _judgement(draft)
    if draft.supersedes:
        fields["supersedes"] = draft.supersedes
    return fields


def _changed_fields(
    draft: Draft, tags: tuple[str, ...], supersedes: tuple[str, ...], moment: str
) -> dict[str, str | Sequence[str]]:
    """What a second saving adds to the first; nothing that was said is taken back."""
    fields: dict[str, str | Sequence[str]] = {"updated": moment, **_judgement(draft)}
    for name, old, new in (("tags", tags, draft.tags), ("supersedes", supersedes, draft.supersedes)):
        if set(new) - set(old):
            fields[name] = tuple(dict.fromkeys((*old, *new)))
    return fields


def _judgement(draft: Draft) -> Mapping[str, str]:
    given = {
        "confidence": f"{draft.confidence:g}" if isinstance(draft.confidence, int | float) else draft.confidence,
        "confidence_reason": draft.confidence_reason,
        "stale_after": draft.stale_after,
    }
    return {name: value for name, value in given.items() if value}


def set_status(backend: StorageBackend, locator: Locator, status: str, moment: str) -> bool:
    """Whether anything had to be changed."""
    changed = False

    def edited(current: str | None) -> str:
        nonlocal changed
        if current is None:
            raise NotFoundError(f"'{locator}' is gone")
        changed = parse_note(locator.key, current)[0].status != status
        return with_fields(locator.key, current, {"status": status, "updated": moment}) if changed else current

    update(backend, locator, edited)
    return changed


def _plain(body: str) -> str:
    """A body as it is compared: line endings and blank margins say nothing."""
    return "\n".join(line.rstrip() for line in body.splitlines()).strip()


def _with_final_newline(body: str) -> str:
    text = body.lstrip("\n")
    return text if text.endswith("\n") else f"{text}\n"
