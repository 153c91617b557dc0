"""`agentm event NAME`: pulls, commits, pushes and scans, when the policy's triggers say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import choose_protocol, hookimpl
from agentm_storage_policy.store import policy_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import HookContext


@hookimpl
def agentm_event(name: str, payload: Mapping[str, object], context: HookContext) -> str | None:
    """One line about what was done; what failed is raised, with what succeeded before it."""
    if choose_protocol(device=context.device) != "policy":
        return None
    store = policy_store(context.device.store(read_only=False))
    if store is None:
        return None
    report = store.handle(name, payload)
    if report.errors:
        error = report.errors[0]
        error.message = "; ".join([*report.lines, *(failure.message for failure in report.errors)])
        raise error
    return "; ".join(report.lines) or None
