"""Rows of `agentm doctor`: each connected host, whether it is told and whether that arrives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, DoctorRow, hookimpl

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_hosts.report import HostReport
    from agentm_kernel.plugin import Device, HookContext


_PATIENCE = 0.8
"""Seconds that a host may take to answer: a check has two of them for all hosts."""


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow]:
    """One row for each host that is connected, and one for each step that is left to the user."""
    from agentm_hosts.connecting import adapters, connected_scopes, what_is_lost

    device = context.device
    found = adapters(device)
    connected = [adapter for adapter in found if connected_scopes(device.state_dir, adapter.name)]
    rows = [row for adapter in connected for row in _rows(device, adapter)]
    unknown = [
        DoctorRow("warn", "hosts", f"{adapter.title}: {problem}")
        for adapter in found
        if adapter not in connected
        for problem in what_is_lost(device, adapter)
    ]
    return [*rows, *unknown] or _offer(device, found)


def _rows(device: Device, adapter: HostAdapter) -> list[DoctorRow]:
    from agentm_hosts.report import report_of

    try:
        found = report_of(device, adapter, patience=_PATIENCE)
    except AgentmError as error:
        return [DoctorRow("warn", "hosts", f"{adapter.title}: {error.message}", error.hint)]
    first = DoctorRow("ok", "hosts", f"{adapter.title}: {found.deliveries}", "; ".join(found.advice) or None)
    problems = problems_of(adapter, found)
    return [first, *(DoctorRow("warn", "hosts", f"{adapter.title}: {problem}") for problem in problems)]


def problems_of(adapter: HostAdapter, found: HostReport) -> list[str]:
    """What keeps a connected host from being told everything."""
    said = f"not everything arrives: `agentm log --host {adapter.name}` shows what"
    return [*([said] if found.dropped or found.cut else []), *found.open_steps]


def _offer(device: Device, found: list[HostAdapter]) -> list[DoctorRow]:
    here = [adapter.title for adapter in found if os.path.isdir(adapter.user_folder(device))]
    if not here:
        return []
    return [DoctorRow("ok", "hosts", f"{', '.join(here)}: not connected", "`agentm setup` connects what is here")]
