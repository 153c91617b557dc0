"""Which notes others have replaced: what a note says about itself, and what newer notes say about it."""

from __future__ import annotations

from agentm_recall.layout import slug_of
from agentm_recall.note import DELETED, SUPERSEDED, is_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_recall.note import Brief


def names(reference: str, key: str) -> bool:
    """Whether `reference`, as people write it in `supersedes`, means the note at `key`: slug or end of its path."""
    wanted, path = _plain(reference), key.removesuffix(".md")
    return bool(wanted) and (path == wanted or path.endswith(f"/{wanted}"))


def _plain(reference: str) -> str:
    """Without the brackets of a wiki link and without the extension."""
    return reference.removeprefix("[[").removesuffix("]]").removesuffix(".md")


def target_slug(reference: str) -> str:
    """The slug of the notes that `reference` can mean."""
    return slug_of(_plain(reference))


def superseded_keys(notes: Iterable[Brief]) -> set[str]:
    """The keys of notes that are not to be believed any more.

    A slug is meant within the same project, and means no note that was made after the one that names it. Of two notes
    that claim to replace each other, the one that is not marked as replaced is right, else the newer one.
    """
    notes = list(notes)
    dead = {note.key for note in notes if note.status == SUPERSEDED}
    claims = [note for note in notes if note.supersedes and note.status != DELETED]
    by_slug: dict[str, list[Brief]] = {target_slug(name): [] for note in claims for name in note.supersedes}
    for note in notes if by_slug else ():
        if note.slug in by_slug:
            by_slug[note.slug].append(note)
    for note in claims:
        for reference in note.supersedes:
            dead.update(other.key for other in _meant(reference, note, by_slug) if not _answers(other, note))
    return dead


def _meant(reference: str, by: Brief, by_slug: dict[str, list[Brief]]) -> list[Brief]:
    return [other for other in by_slug.get(target_slug(reference), ()) if _means(reference, by, other)]


def claims(by: Brief, other: Brief) -> bool:
    """Whether one note says that it has replaced the other."""
    return by.status != DELETED and any(_means(reference, by, other) for reference in by.supersedes)


def _means(reference: str, by: Brief, other: Brief) -> bool:
    return other.key != by.key and names(reference, other.key) and _may_reach(reference, by, other)


def _may_reach(reference: str, by: Brief, other: Brief) -> bool:
    if _is_later(other, by):
        return False
    return other.project == by.project or _plain(reference) == other.key.removesuffix(".md")


def _is_later(other: Brief, by: Brief) -> bool:
    """Whether `other` was made later, on a later day where a day is all that one of them says. Of two notes of one
    second it was, unless it is marked as replaced: whoever replaced it in that second has done so.
    """
    if not is_date(other.created) or not is_date(by.created):
        return False
    known = min(len(other.created), len(by.created))
    one, two = other.created[:known], by.created[:known]
    return one > two or (one == two and "T" in one and other.status not in (DELETED, SUPERSEDED))


def _answers(other: Brief, note: Brief) -> bool:
    """Whether `other` replaces `note` in turn and is right: `note` alone is marked so, or `other` is newer."""
    if other.status == DELETED or not any(names(reference, note.key) for reference in other.supersedes):
        return False
    if (other.status == SUPERSEDED) != (note.status == SUPERSEDED):
        return note.status == SUPERSEDED
    return (other.changed, other.key) > (note.changed, note.key)
