"""What a bucket adds to a person's page: whether it answers, the age of the copy here, versions kept aside."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_bucket.backend import BucketBackend
from agentm_kernel.plugin import AgentmError, DeviceCopy, Panel, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import HookContext

_REACH_SECONDS = 3.0


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing, where no bucket is selected."""
    store = context.store.facet(DeviceCopy) if context.store is not None else None
    return (
        [Panel("bucket", "Bucket", "more", partial(_show, store, context))]
        if isinstance(store, BucketBackend)
        else None
    )


def _show(store: BucketBackend, context: HookContext, _query: Mapping[str, str]) -> list[Mapping[str, Any]]:
    from agentm_bucket.doctor import agentm_doctor_checks

    rows: list[dict[str, Any]] = []
    try:
        store.check_reachable(_REACH_SECONDS)
        rows.append({"status": "ok", "label": "bucket", "text": f"{store.describe()} answers"})
    except AgentmError as error:
        rows.append({"status": "fail", "label": "bucket", "text": error.message, "hint": error.hint})
    rows += [
        {"status": row.status, "label": row.check, "text": row.message, "hint": row.hint}
        for row in agentm_doctor_checks(context) or ()
    ]
    return [{"type": "rows", "rows": rows}]
