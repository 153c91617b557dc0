"""What the process seam asks: entry point `agentm.recall`."""

from __future__ import annotations

from agentm_recall.phases import recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Resolution

_NOTHING = "_unclaimed"


def recall(resolution: Resolution, *, phase: str, query: str | None = None, limit: int | None = None) -> str:
    """The notes for a phase of work on the project of `resolution`; `""` where no store was selected."""
    if resolution.backend is None or resolution.project_locator is None:
        return ""
    place = resolution.project_locator
    if not resolution.is_claimed:
        # On a copy that is out of date, the name may be another repository's by now: nothing below it is ours.
        place = place.child(_NOTHING)
    return recalled(resolution.backend, resolution.slug, place, phase, budget=limit, query=query)
