"""What `agentm doctor` says about the configured policy: its warnings, and what waits or failed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import DoctorRow, choose_protocol, hookimpl
from agentm_storage_policy.store import policy_store

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext
    from agentm_storage_policy.sync_state import Failure

_CHECK = "policy"
_AGAIN = "the notes are in the working copy; run `agentm event manual`"


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    if choose_protocol(device=context.device) != "policy":
        return None
    store = None if context.store is None else policy_store(context.store)
    if store is None:
        return None  # selection has said already why there is none
    rows = [DoctorRow("ok", _CHECK, f"{store.rules.name}{' (read-only)' if store.rules.read_only else ''}")]
    rows += [DoctorRow("warn", _CHECK, str(warning), warning.hint) for warning in store.warnings]
    if store.driver is not None:
        rows += _sync_rows(store.driver.waiting_since(), store.driver.failure())
    return rows


def _sync_rows(waiting_since: float | None, failure: Failure | None) -> list[DoctorRow]:
    rows = []
    if failure is not None:
        rows.append(DoctorRow("warn", "sync", failure.message, failure.hint or _AGAIN, failure.code or None))
    if waiting_since is not None:
        minutes = (time.time() - waiting_since) / 60
        rows.append(DoctorRow("ok", "sync", f"writes wait to be committed, the oldest for {minutes:.0f} min"))
    return rows
