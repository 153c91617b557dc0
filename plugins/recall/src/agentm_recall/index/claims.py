"""Which notes are replaced by others, kept in the index as far as a change concerns it.

A note is replaced by those that name its slug. So after a change only the notes of the slugs concerned are looked at,
and those that name them, however many notes there are.
"""

from __future__ import annotations

from agentm_recall.supersession import superseded_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_recall.index.database import Database


def settle_claims(database: Database, slugs: Iterable[str]) -> None:
    """Mark the notes of these slugs that are replaced, and no others of them. Inside the caller's transaction."""
    for slug in slugs:
        claimants = database.select_notes("id IN (SELECT note FROM claims WHERE slug = ?)", slug)
        named = database.select_notes("slug = ?", slug)
        if not claimants and not any(note.status == "superseded" for note in named):
            database.connection.execute("UPDATE notes SET replaced = 0 WHERE slug = ? AND replaced", (slug,))
            continue
        dead = superseded_keys({note.key: note for note in (*named, *claimants)}.values())
        marks = [(note.key in dead, note.key) for note in named]
        database.connection.executemany("UPDATE notes SET replaced = ? WHERE key = ?", marks)
