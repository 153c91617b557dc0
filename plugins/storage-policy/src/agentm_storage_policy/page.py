"""What a policy adds to a person's page: what it says, in sentences, and what waits or failed."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import Opening, Panel, choose_protocol, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import HookContext


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing, where no policy describes the store."""
    if choose_protocol(device=context.device) != "policy":
        return None
    return [Panel("policy", "Policy", "more", partial(_show, context))]


def _show(context: HookContext, _query: Mapping[str, str]) -> list[Mapping[str, Any]]:
    from agentm_storage_policy.doctor import agentm_doctor_checks

    rows = [
        {"status": row.status, "label": row.check, "text": row.message, "hint": row.hint}
        for row in agentm_doctor_checks(context) or ()
    ]
    said = "\n".join(f"- {sentence}" for sentence in _sentences(context))
    return [{"type": "rows", "rows": rows}, {"type": "markdown", "text": said}]


def _sentences(context: HookContext) -> list[str]:
    """What `agentm policy explain` says of the document that is in force."""
    from agentm_storage_policy.composing import compose
    from agentm_storage_policy.explain import sentences
    from agentm_storage_policy.handle import load_storage
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.resolving import Resolver

    device = context.device
    options = device.config.options("policy")
    path = options.get("path")
    if not path:
        return []
    host = Host(options, device, Opening(read_only=True, state_dir=device.state_dir))
    resolved = load_storage(os.path.abspath(device.expand(str(path)))).resolve(device, host.options)
    grants = compose(resolved, host, Resolver(host)) if resolved.policies else None
    return list(sentences(resolved, host, grants))
