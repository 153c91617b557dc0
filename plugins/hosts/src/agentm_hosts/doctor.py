"""Rows of `agentm doctor`: each connected host, whether it is told and whether that arrives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import DoctorRow, hookimpl

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_hosts.report import HostReport
    from agentm_kernel.plugin import Device, HookContext


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow]:
    """Hosts are not asked here, that takes a second: `agentm hosts list` does it."""
    from agentm_hosts.connecting import adapters, connected_scopes
    from agentm_hosts.report import report_of

    device = context.device
    rows = []
    for adapter in adapters(device):
        if not connected_scopes(device.state_dir, adapter.name):
            continue
        found = report_of(device, adapter, ask_host=False)
        problem = problem_of(device, adapter, found)
        row = DoctorRow("warn" if problem else "ok", "hosts", f"{adapter.title}: {found.deliveries}", problem)
        rows.append(row)
    return rows


def problem_of(device: Device, adapter: HostAdapter, found: HostReport) -> str | None:
    """What keeps a connected host from being told everything, as far as that is known without asking it."""
    from agentm_hosts.files.connections import receipts

    gone = [
        receipt.path for _, receipt in receipts(device.state_dir, adapter.name) if not os.path.exists(receipt.path)
    ]
    if found.dropped or found.cut:
        return f"not everything arrives: `agentm log --host {adapter.name}` shows what"
    if gone:
        return f"{gone[0]} is gone: run `agentm connect {adapter.name}` again"
    return next(iter(found.open_steps), None)
