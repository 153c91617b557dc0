"""From a working directory to its project and its store."""

from __future__ import annotations

import os

from agentm_kernel.config.read import load
from agentm_kernel.projects.root import find_project_root
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
    resolution = route_project(context, read_only=read_only)
    _ = resolution.slug, resolution.layout  # whatever is wrong with them is said here, not later
    return resolution


def route_project(context: Mapping[str, Any] | None = None, *, read_only: bool = False) -> Resolution:
    """`resolve_project` for callers that may not need the project's name."""
    cwd = (context or {}).get("cwd")
    root = find_project_root(os.fspath(cwd) if cwd else None)
    if state_mode(root, load()) == "local":
        return Resolution(root, None)
    from agentm_kernel.selection.open import select_backend

    return Resolution(root, select_backend(read_only=read_only))
