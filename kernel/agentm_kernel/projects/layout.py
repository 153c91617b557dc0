"""Where a project lies in a store."""

from __future__ import annotations

from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend

PROJECTS = "projects"
LEGACY_PROJECTS = "personal-projects"


def place_in_store(backend: StorageBackend, slug: str) -> tuple[str, Locator]:
    """`new` and `projects/<slug>`, or `legacy` and `personal-projects/<slug>` where that is all there is."""
    new, legacy = Locator(f"{PROJECTS}/{slug}"), Locator(f"{LEGACY_PROJECTS}/{slug}")
    if not backend.exists(new) and backend.exists(legacy):
        return "legacy", legacy
    return "new", new
