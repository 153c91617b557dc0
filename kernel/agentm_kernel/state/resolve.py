"""From a working directory to its project, its store, and its place there."""

from __future__ import annotations

import os

from agentm_kernel.config.read import load
from agentm_kernel.projects.layout import place_in_store
from agentm_kernel.projects.root import find_project_root
from agentm_kernel.projects.slug import identify_project
from agentm_kernel.selection.open import select_backend
from agentm_kernel.state.modes import state_mode
from agentm_kernel.state.resolution import Resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def resolve_project(context: Mapping[str, Any] | None = None, *, read_only: bool = False) -> Resolution:
    """Which project this is and where its state belongs; `context["cwd"]` instead of the current directory.

    In mode `local` nothing is selected. Otherwise a store that cannot be had raises: state is never routed to a
    place that merely happens to be there. `read_only` admits a store that can be read but not written.
    """
    cwd = (context or {}).get("cwd")
    root = find_project_root(os.fspath(cwd) if cwd else None)
    identity = identify_project(root)
    if state_mode(root, load()) == "local":
        return Resolution(identity, root)
    backend = select_backend(read_only=read_only)
    layout, locator = place_in_store(backend, identity.slug)
    resolution = Resolution(identity, root, backend=backend, project_locator=locator, layout=layout)
    if resolution.is_synced:
        from agentm_kernel.projects.ownership import check_ownership

        check_ownership(backend, identity.slug, identity.remote)
    return resolution
