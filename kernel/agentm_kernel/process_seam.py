"""The read-only view that a process (a hook, a phase, a server) calls. Also `python -m agentm_kernel.process_seam`.

Nothing here creates or changes a file anywhere. `recall_here` and `offer_save_here` never raise: memory that cannot
be had is an empty answer and a line on standard error. `state_path` does raise: a wrong place is worse than none.
"""

from __future__ import annotations

import sys

from agentm_kernel.errors import AgentmError, one_line
from agentm_kernel.state.routing import route_memory, route_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any, Protocol

    from agentm_kernel.device.installed import PluginRecord
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
    try:
        return _recall(context or {}, query, limit)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a recall must never stop the agent; what failed is said
        _warn("recall", error)
        return ""


def offer_save_here(context: Mapping[str, Any] | None, candidate: Any) -> list[dict[str, Any]]:
    """`candidate`, completed with the project and the place where it would be saved. Saves nothing."""
    try:
        return _offers(context or {}, candidate) if candidate else []
    except Exception as error:  # noqa: BLE001 - as above
        _warn("offer-save", error)
        return []


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

    resolution = route_project(context, read_only=True).on_this_device()
    plan, progress = resolve_active_plan(resolution, (context or {}).get("plan"))
    return state_file_path(resolution, plan if which == "plan" else progress)


def is_available() -> bool:
    """Whether the configured store can be had."""
    from agentm_kernel.selection.open import Decision, inspect

    return isinstance(inspect(), Decision)


# ------------------------------------------------------------------------------------------------ the parts


def _recall(context: Mapping[str, Any], query: str | None, limit: int | None) -> str:
    from agentm_kernel.device.installed import RECALL, scan

    provider = _recall_provider(scan(RECALL))
    if provider is None:
        return ""
    phase = context.get("phase")
    return _asked(provider, route_memory(context), phase if phase in PHASES else DEFAULT_PHASE, query, limit)


def recall_at_start(resolution: Resolution, records: Iterable[PluginRecord], limit: int) -> str:
    """What a session should remember when it starts; `records` are all installed plugins, scanned once for all."""
    from agentm_kernel.device.installed import RECALL

    provider = _recall_provider([record for record in records if record.group == RECALL])
    if provider is None:
        return ""
    memory = resolution if resolution.backend is not None else route_memory({"cwd": resolution.root})
    return _asked(provider, memory, DEFAULT_PHASE, None, limit)


def _asked(provider: RecallProvider, resolution: Resolution, phase: str, query: str | None, limit: int | None) -> str:
    from agentm_kernel.plugins.load import StdoutToStderr

    with StdoutToStderr():
        answer: object = provider(resolution, phase=phase, query=query, limit=limit)
    if not isinstance(answer, str):
        raise AgentmError(f"the recall provider answered with {type(answer).__name__}, not with text")
    return answer


def _recall_provider(records: list[PluginRecord]) -> RecallProvider | None:
    """The one installed recall provider, `None` without one."""
    if records:
        from agentm_kernel.device.config import load as load_config
        from agentm_kernel.plugins.policy import refusal

        config = load_config()
        records = [r for r in records if refusal(r, config.disabled_plugins, config.allowed_plugins) is None]
    if not records:
        return None
    if len(records) > 1:
        owners = " and ".join(sorted(record.distribution for record in records))
        raise AgentmError(
            f"more than one recall provider is installed: {owners}",
            hint="disable one: `agentm config set plugin_policy.disabled NAME`",
        )
    from agentm_kernel.plugins.load import load

    return load(records[0])  # type: ignore[return-value]


def _offers(context: Mapping[str, Any], candidate: Any) -> list[dict[str, Any]]:
    """None where there is no project: a note of the whole disk would be nobody's."""
    from agentm_kernel.projects.root import is_no_project

    resolution = route_memory(context)
    return [] if is_no_project(resolution.root) else [_completed(resolution, context, candidate)]


def _completed(resolution: Resolution, context: Mapping[str, Any], candidate: Any) -> dict[str, Any]:
    from agentm_kernel.selection.open import choose_protocol

    assert resolution.project_locator is not None  # there is a store, so there is a place in it
    offer = dict(candidate) if isinstance(candidate, dict) else {"body": candidate}
    offer.setdefault("project", resolution.slug)
    if context.get("phase"):
        offer.setdefault("phase", context["phase"])
    offer["target"] = resolution.project_locator.key
    offer["protocol"] = choose_protocol()
    return offer


def _warn(doing: str, error: BaseException) -> None:
    message = error.message if isinstance(error, AgentmError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"agentm {doing}: {one_line(message)}\n")


if __name__ == "__main__":
    from agentm_kernel.cli.main import main

    sys.exit(main(only=("recall-here", "state-path", "offer-save-here")))
