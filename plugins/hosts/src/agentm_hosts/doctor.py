"""Rows of `agentm doctor`: each connected host, whether it is told and whether that arrives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import DoctorRow, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow]:
    """Hosts are not asked here, that takes a second: `agentm hosts list` does it."""
    from agentm_hosts.connecting import adapters, connected_scopes
    from agentm_hosts.files.receipts import receipts
    from agentm_hosts.report import report_of

    device = context.device
    rows = []
    for adapter in adapters(device):
        if not connected_scopes(device.state_dir, adapter.name):
            continue
        found = report_of(device, adapter, ask_host=False)
        problem = next(iter(found.open_steps), None)
        gone = [
            receipt.path
            for _, receipt in receipts(device.state_dir, adapter.name)
            if not os.path.exists(receipt.path)
        ]
        if gone:
            problem = f"{gone[0]} is gone: run `agentm connect {adapter.name}` again"
        if found.dropped or found.cut:
            problem = f"not everything arrives: `agentm log --host {adapter.name}` shows what"
        row = DoctorRow("warn" if problem else "ok", "hosts", f"{adapter.title}: {found.deliveries}", problem)
        rows.append(row)
    return rows
