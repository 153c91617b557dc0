"""What the process seam asks: entry point `agentm.recall`."""

from __future__ import annotations

from agentm_recall.catalog import is_elsewhere
from agentm_recall.phases import recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.state.resolution import Resolution


def recall(resolution: Resolution, *, phase: str, query: str | None = None, limit: int | None = None) -> str:
    """The notes for a phase of work on the project of `resolution`.

    A project that keeps its state in its own folder has selected no store, so it has no memory: `""`.
    """
    backend = resolution.backend
    if backend is None:
        return ""
    folder = None if is_elsewhere(backend) else resolution.project_locator
    return recalled(backend, resolution.slug, folder, phase, budget=limit, query=query)
