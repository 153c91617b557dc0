"""The read-only view that a process (a hook, a phase, a server) calls. Also `python -m agentm_kernel.process_seam`.

Nothing here creates or changes a file anywhere. `recall_here` and `offer_save_here` never raise: memory that cannot
be had is an empty answer and a line on standard error. `state_path` does raise: a wrong place is worse than none.
"""

from __future__ import annotations

import sys

from agentm_kernel.errors import AgentmError
from agentm_kernel.state.resolve import resolve_project, route_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Protocol

    from agentm_kernel.state.resolution import Resolution

    class RecallProvider(Protocol):
        """What an entry point of group `agentm.recall` names."""

        def __call__(self, resolution: Resolution, *, phase: str, query: str | None, limit: int | None) -> str: ...


PHASES = ("setup", "plan", "work", "review", "release", "bugfix", "documenter")
DEFAULT_PHASE = "work"


def recall_here(
    context: Mapping[str, Any] | None = None, *, query: str | None = None, limit: int | None = None
) -> str:
    """What memory holds for the project and phase of `context`, as Markdown; `""` where there is nothing."""
    context = context or {}
    try:
        provider = _recall_provider()
        if provider is None:
            return ""
        resolution = resolve_project(context, read_only=True)
        phase = context.get("phase")
        return provider(resolution, phase=phase if phase in PHASES else DEFAULT_PHASE, query=query, limit=limit)
    except Exception as error:  # noqa: BLE001 - a recall must never stop the agent; what failed is said
        _warn("recall", error)
        return ""


def offer_save_here(context: Mapping[str, Any] | None, candidate: Any) -> list[dict[str, Any]]:
    """`candidate`, completed with the project and the place where it would be saved. Saves nothing."""
    if not candidate:
        return []
    context = context or {}
    try:
        resolution = resolve_project(context, read_only=True)
    except AgentmError as error:
        _warn("offer-save", error)
        return []
    if resolution.backend is None or resolution.project_locator is None:
        return []
    offer = dict(candidate) if isinstance(candidate, dict) else {"body": candidate}
    offer.setdefault("project", resolution.slug)
    if context.get("phase"):
        offer.setdefault("phase", context["phase"])
    offer["target"] = resolution.project_locator.key
    offer["protocol"] = _protocol()
    return [offer]


def state_path(context: Mapping[str, Any] | None, which: str) -> Path:
    """The path of the active plan's file, `which` being `plan` or `progress`; raises rather than guess."""
    from pathlib import Path

    return Path(state_path_text(context, which))


def state_path_text(context: Mapping[str, Any] | None, which: str) -> str:
    """`state_path` without the price of pathlib."""
    if which not in ("plan", "progress"):
        raise ValueError(f"state_path knows 'plan' and 'progress', not {which!r}")
    from agentm_kernel.state.plans import resolve_active_plan
    from agentm_kernel.state.routing import state_file_path

    context = context or {}
    resolution = route_project(context, read_only=True)
    plan, progress = resolve_active_plan(resolution, context.get("plan"))
    return state_file_path(resolution, plan if which == "plan" else progress)


def is_available() -> bool:
    """Whether the configured store can be had."""
    from agentm_kernel.selection.open import Decision, inspect

    return isinstance(inspect(), Decision)


def _recall_provider() -> RecallProvider | None:
    """The one installed recall provider, `None` without one."""
    from agentm_kernel.config.read import load as load_config
    from agentm_kernel.host.load import load
    from agentm_kernel.host.policy import refusal
    from agentm_kernel.host.record import RECALL
    from agentm_kernel.host.scan import scan

    config = load_config()
    records = [
        record for record in scan(RECALL) if not refusal(record, config.disabled_plugins, config.allowed_plugins)
    ]
    if len(records) > 1:
        owners = " and ".join(sorted(record.distribution for record in records))
        raise AgentmError(
            f"more than one recall provider is installed: {owners}",
            hint="disable one: `agentm config set plugin_policy.disabled '[\"NAME\"]'`",
        )
    return load(records[0]) if records else None  # type: ignore[return-value]


def _protocol() -> str:
    from agentm_kernel.selection.choose import choose_protocol

    return choose_protocol()


def _warn(doing: str, error: Exception) -> None:
    message = error.message if isinstance(error, AgentmError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"agentm {doing}: {message}\n")


if __name__ == "__main__":
    from agentm_kernel.cli.main import main

    sys.exit(main())
