"""The notes that answer the query of a recall."""

from __future__ import annotations

from agentm_recall.gathering import add_bodies
from agentm_recall.index.reading import IndexReader
from agentm_recall.index.search import Scope
from agentm_recall.layout import ALWAYS_LOAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import Locator
    from agentm_recall.catalog import Catalog
    from agentm_recall.digest import Digest
    from agentm_recall.index.asked import Opened
    from agentm_recall.index.search import Result
    from agentm_recall.note import Note

_MOST = 200
"""More than any budget shows."""


def matching(
    catalog: Catalog,
    query: str,
    project: str,
    places: Sequence[Locator],
    deadline: float,
    environ: Mapping[str, str] | None,
    digest: Digest,
) -> list[Note]:
    """The notes that answer the query, best first; where it asks for the past, replaced ones too."""

    def question(opened: Opened) -> Result:
        found = opened.search(query, Scope(project=project), limit=_MOST)
        if catalog.is_elsewhere:
            add_bodies(catalog, opened.database, [hit.note for hit in found.hits])
        return found

    index = IndexReader(catalog.backend, environ)
    result = index.ask(question, places, may_write=False, deadline=deadline, look_only=catalog.is_elsewhere)
    digest.conclude(_confidence_of(result))
    catalog.sizes |= {note.key: note.size for shelf in catalog.shelves.values() for note in shelf}
    hits = [hit for hit in result.hits if not hit.note.key.startswith(f"{ALWAYS_LOAD}/")]
    for hit in hits:
        if not hit.is_current:
            digest.show_past(hit.note.key)
    return [hit.note for hit in hits]


def _confidence_of(result: Result) -> str:
    """What the last line says about how sure it is that the notes answer."""
    if result.is_answer:
        return f" Confidence that this answers the query: {result.confidence:.2f}."
    return f" No note seems to answer the query (confidence {result.confidence:.2f})."
