"""The tools that keep something: a new note, another text for one, more lines at its end, a judgement of it.

Nothing is taken away by them that cannot be had back: a new note never replaces one, and a text is replaced only
where somebody keeps the version before, and only if it still is the one that the agent has read.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    History,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    append as append_text,
    content_hash,
    permitted,
    refuse_secrets,
)
from agentm_recall.bodies import Body
from agentm_recall.fence import visible, visible_line
from agentm_recall.inbox import APPEND, REPLACE, Proposal, needs_approval, proposal_of, propose
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.judging import judge, judged
from agentm_recall.layout import ALWAYS_LOAD_KIND, PERSONAL, place_of
from agentm_recall.note import DELETED, OPERATOR, SUPERSEDED, is_by_operator, parse_note
from agentm_recall.replacing import refuse_if_changed, refuse_if_replaced, replace_text
from agentm_recall.saving import (
    REINFORCED,
    UNCHANGED,
    Draft,
    check_draft,
    refuse_dead,
    save_note,
    slugify,
    stored_fields,
)
from agentm_recall.scopes import own_store
from agentm_recall.tool_place import Place, place_for_writing

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend, ToolCall
    from agentm_recall.note import Note

_LONGEST_SLUG = 80
_SHOWN = 20_000
_TOLD = "agentm.plugins.replaced"
"""The group of those who are told of every version that a write replaces, and keep it."""


def save(
    call: ToolCall,
    title: str,
    body: str,
    kind: str | None = None,
    scope: str = "project",
    note: str | None = None,
    expect: str | None = None,
    project: str | None = None,
) -> dict[str, object]:
    """Save a new note, or another text for one that the agent has read."""
    if (note is None) != (expect is None):
        raise InvalidContentError(
            "changing a note takes both note and expect, its hash",
            hint="memory_read gives the hash; leave both out for a new note",
        )
    is_own = scope == PERSONAL or (kind == ALWAYS_LOAD_KIND and note is None)
    text = _with_title(title, body)
    draft = Draft(kind or "fact", _slug(title), text)
    _refuse_claim(text)
    if note is None:  # before the project gets a name in the store, for a refusal changes nothing
        check_draft(draft)
        refuse_dead(Body(text), {})
    own = Place(own_store(call.device), PERSONAL, None) if is_own else None
    place = own or place_for_writing(call, project, claiming=note is None)
    if note is not None and expect is not None:
        return _replace(call, *place.find(call, note, read_only=False), text, expect)
    return _save_new(call, place, draft)


def _save_new(call: ToolCall, place: Place, draft: Draft) -> dict[str, object]:
    target = place_of(draft.kind, draft.slug, place.folder)
    try:
        if needs_approval(call.device, draft.kind):
            return _proposed(call, place, proposal_of(place.backend, draft, place.folder, by=call.client))
        saved = save_note(place.backend, draft, project=place.folder, allow_secrets=True)  # it was checked above
    except LocatorConflictError as error:
        raise _conflict(place.backend, target, error.message, can_replace=_keeps_history(call, place)) from error
    RecallIndex(place.backend, call.device.environ).note_written([target])
    is_old = saved.outcome in (REINFORCED, UNCHANGED)
    return _saved(place, target, "unchanged" if is_old else "saved")


def _replace(call: ToolCall, place: Place, target: Locator, text: str, expect: str) -> dict[str, object]:
    if not Body(text).text.strip():
        raise InvalidContentError("the note would have no text")
    refuse_secrets("the note", text)
    if not _keeps_history(call, place):
        raise InvalidContentError(
            f"nobody keeps the earlier versions of notes in {place.backend.describe()}, so none is replaced",
            hint="save a new note under another title that says what is different now; with agentm-checkpoint "
            "installed, notes can be changed",
        )
    current = place.backend.read(target)
    refuse_dead(Body(text), stored_fields(current))
    known = parse_note(target.key, current)[0]
    try:
        if needs_approval(call.device, known.kind):
            refuse_if_changed(target, current, expect)
            refuse_if_replaced(place.backend, target, known.kind, text)
            change = Proposal(REPLACE, target.key, known.kind, text, expect=expect, by=call.client)
            return _proposed(call, place, change)
        _refuse_operators(known)
        is_changed = replace_text(place.backend, target, text, expect)
    except LocatorConflictError as error:
        error.hint = "memory_read that one and change it, or save what holds now as a new note"
        raise
    except ConcurrentModificationError as error:
        raise _conflict(place.backend, target, error.message, can_replace=True) from error
    RecallIndex(place.backend, call.device.environ).note_written([target])
    return _saved(place, target, "saved" if is_changed else "unchanged")


def append(call: ToolCall, note: str, text: str, project: str | None = None) -> dict[str, object]:
    """Add to the end of a note that is there."""
    refuse_secrets("the text", text)
    place, target = place_for_writing(call, project, claiming=False).find(call, note, read_only=False)
    lines = text if text.endswith("\n") else f"{text}\n"
    known = _living(target, place.backend.read(target))
    if needs_approval(call.device, known.kind):
        return _proposed(call, place, Proposal(APPEND, target.key, known.kind, lines, by=call.client))
    _refuse_operators(known)
    append_text(place.backend, target, lines)
    RecallIndex(place.backend, call.device.environ).note_written([target])
    return _saved(place, target, "saved")


def feedback(
    call: ToolCall, note: str, verdict: str, reason: str = "", project: str | None = None
) -> dict[str, object]:
    """Say in the front matter that the note was confirmed or doubted, and when. Its text stays as it is."""
    place, target = place_for_writing(call, project, claiming=False).find(call, note, read_only=False)
    now = place.backend.read(target)
    kind = _living(target, now).kind
    if needs_approval(call.device, kind):
        text = judged(target, now, verdict, reason)
        change = Proposal(REPLACE, target.key, kind, text, expect=content_hash(now), by=call.client)
        return {**_proposed(call, place, change), "verdict": verdict}
    judge(place.backend, target, verdict, reason)
    RecallIndex(place.backend, call.device.environ).note_written([target])
    return {**_saved(place, target, "saved"), "verdict": verdict}


# ------------------------------------------------------------------------------------------------ answers


def _saved(place: Place, target: Locator, status: str) -> dict[str, object]:
    digest = content_hash(place.backend.read(target))
    return {"status": status, "key": target.key, "hash": digest, **place.said}


def _proposed(call: ToolCall, place: Place, proposal: Proposal) -> dict[str, object]:
    name = propose(place.backend, proposal, call.device.config)
    return {
        "status": "proposed",
        "key": proposal.target,
        "proposal": name,
        "next": "the operator decides: `agentm inbox list`; until then no session gets it",
        **place.said,
    }


def _conflict(backend: StorageBackend, target: Locator, why: str, *, can_replace: bool) -> AgentmError:
    """What is there now, and what to do next, so that the agent need not ask twice."""
    try:
        text = backend.read(target)
    except NotFoundError:
        return ConcurrentModificationError(f"{why}; now it is gone", hint="save it as a new note, if it still holds")
    digest = content_hash(text)
    hint = "save it under another title"
    if can_replace:
        hint = f"merge your text with the current one below, then call memory_save with note={target.key} and "
        hint += f"expect={digest}; if it is another fact, save it under another title"
    error = ConcurrentModificationError(why, hint=hint)
    error.details = {"key": target.key, "hash": digest, "text": visible(text[:_SHOWN])}
    return error


# ------------------------------------------------------------------------------------------------ parts


def _keeps_history(call: ToolCall, place: Place) -> bool:
    """Whether the version before can be had back: the store keeps it, or a plugin that is told of it."""
    return place.backend.facet(History) is not None or bool(permitted(call.device, _TOLD))


def _living(target: Locator, text: str) -> Note:
    """The note; refused if no session would be given what is said of it now."""
    note = parse_note(target.key, text)[0]
    if note.status in (DELETED, SUPERSEDED):
        raise InvalidContentError(
            f"'{target}' is {note.status}, so no session is given it",
            hint="save what holds now as a new note",
        )
    return note


def _refuse_operators(note: Note) -> None:
    """Sessions are told to follow what the operator wants, so nobody else may put words into it."""
    if is_by_operator(note):
        raise InvalidContentError(
            f"'{note.key}' is the operator's own word, which every session follows",
            hint=f"save a note of your own, or ask the operator to run `agentm notes edit {quote(note.slug)}`",
        )


def _refuse_claim(text: str) -> None:
    """However it is spelled: what counts is what a note with this front matter would say of itself."""
    source = visible_line(parse_note("note.md", text)[0].source)
    if "source" in Body(text).fields and source.casefold() in ("", OPERATOR):
        raise InvalidContentError(
            "what comes from the operator does not come through a tool, and so not from an agent",
            hint="leave `source` out of the front matter of the text",
        )


def _with_title(title: str, body: str) -> str:
    """The body below its title, unless it begins with a heading or front matter of its own."""
    own = Body(body)
    if own.has_block or own.text.lstrip().startswith("#"):
        return body
    return f"# {' '.join(title.split())}\n\n{body.lstrip()}"


def _slug(title: str) -> str:
    """A name that says what the note is about, cut between words."""
    slug = slugify(title)
    if len(slug) <= _LONGEST_SLUG:
        return slug
    return slug[: _LONGEST_SLUG + 1].rpartition("-")[0] or slug[:_LONGEST_SLUG]
