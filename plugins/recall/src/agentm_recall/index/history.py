"""When the past is asked for: notes that were replaced, each behind the one that replaced it.

Where the question names the successor ("what was it before Kafka") or a time that only the old note belongs to, the
old note is the answer, and stands in front.
"""

from __future__ import annotations

from agentm_recall.index.contents import Contents
from agentm_recall.note import DELETED
from agentm_recall.supersession import names, target_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.index.database import Database
    from agentm_recall.index.plan import Plan
    from agentm_recall.index.search import Hit
    from agentm_recall.index.times import Times

_SUCCESSORS = 4
"""So many of the best notes are asked what they replaced."""


def with_the_past(database: Database, plan: Plan, times: Times, hits: list[Hit], dead: list[Hit]) -> list[Hit]:
    """The hits with the replaced notes among them."""
    old = {hit.note.key: hit for hit in dead if hit.note.status != DELETED}
    replaced_by: dict[str, list[Hit]] = {}
    for hit in hits[:_SUCCESSORS]:
        for other in _replaced(database, hit, old):
            replaced_by.setdefault(hit.note.key, []).append(other)
            old.pop(other.note.key, None)
    contents = Contents(
        database,
        plan.lexicon,
        [hit.number for hit in hits[:_SUCCESSORS]] + [hit.number for group in replaced_by.values() for hit in group],
    )
    after = {stem for stems in plan.lexicon.stems(times.after.split()) for stem in stems} if times.after else set()
    order: list[Hit] = []
    for hit in hits:
        former = replaced_by.get(hit.note.key, [])
        in_front = [other for other in former if _is_meant(contents, times, after, hit, other)]
        order += [*in_front, hit, *(other for other in former if other not in in_front)]
    for hit in sorted(old.values(), key=lambda hit: -hit.score):
        place = next((index for index, other in enumerate(order) if other.score < hit.score), len(order))
        order.insert(place, hit)
    return order


def _replaced(database: Database, hit: Hit, known: dict[str, Hit]) -> list[Hit]:
    """The notes that this one says it replaces."""
    from agentm_recall.index.search import Hit

    found = []
    for reference in hit.note.supersedes:
        for number, note in database.by_slug(target_slug(reference)):
            is_same_project = note.project == hit.note.project
            if note.key != hit.note.key and is_same_project and note.status != DELETED and names(reference, note.key):
                found.append(known.get(note.key) or Hit(note, number, 0.0, {}, is_current=False))
    return found


def _is_meant(contents: Contents, times: Times, after: set[str], successor: Hit, old: Hit) -> bool:
    from agentm_recall.index.search import day_of

    if any(contents.has(successor.number, stem) and not contents.has(old.number, stem) for stem in after):
        return True
    if not times.is_bounded:
        return False
    then, later = day_of(old.note.changed), day_of(successor.note.changed)
    return then is not None and later is not None and times.includes(then) and not times.includes(later)
