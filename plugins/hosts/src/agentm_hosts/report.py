"""What is known about each host: connected or not, what arrived, and what only the user can do."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentm_hosts.connecting import (
    adapters,
    connected_place,
    connected_scopes,
    hooks_of_the_project,
    what_is_lost,
)
from agentm_hosts.place import PATIENCE
from agentm_hosts.settling import CUT, DELIVERED, DROPPED, settle
from agentm_kernel.plugin import AgentmError, Call, PluginError

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_hosts.place import Place
    from agentm_hosts.settling import Delivery
    from agentm_kernel.plugin import Device

_NEW_SESSION = 60.0


@dataclass(frozen=True)
class HostReport:
    """One host on this device."""

    host: str
    title: str
    proof: str
    program: str | None
    is_present: bool
    connected: tuple[str, ...]
    told: int
    """Texts that can be looked for."""
    delivered: int
    cut: int
    dropped: int
    unseen: int
    """Texts of events about which the host's transcript is silent."""
    last: float | None
    open_steps: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def deliveries(self) -> str:
        """In words."""
        if not self.connected:
            return "-"
        if self.last is None:
            return "nothing told yet"
        last = f"last {spoken_time(self.last)}"
        if not self.told:
            return f"{self.unseen} told, {last}; its transcript does not say what the model got"
        words = f"{self.delivered} of {self.told} delivered"
        words += f", {self.cut} cut" if self.cut else ""
        words += f", {self.dropped} dropped" if self.dropped else ""
        return f"{words}, {last}" + (f"; {self.unseen} more that its transcript does not show" if self.unseen else "")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def reports(device: Device) -> list[HostReport]:
    """Every host that an adapter knows. One that cannot answer is said, and left out."""
    found = []
    for adapter in adapters(device):
        try:
            found.append(report_of(device, adapter))
        except PluginError as error:
            sys.stderr.write(f"agentm: {error.message}\n")
    return found


def report_of(device: Device, adapter: HostAdapter, *, patience: float = PATIENCE) -> HostReport:
    """What is known of one host, which may take so many seconds to answer for itself; `PluginError` if it cannot."""
    with Call(f"adapter '{adapter.name}'", "answering for its host"):
        return _report_of(device, adapter, patience)


def _report_of(device: Device, adapter: HostAdapter, patience: float) -> HostReport:
    scopes = connected_scopes(device.state_dir, adapter.name)
    place = replace(connected_place(device, adapter.name), patience=patience)
    lines = settle(device, adapter, seconds=min(1.0, patience)) if scopes else []
    said = [line for line in lines if line.receipt]
    told = [line for line in said if line.event in adapter.writes_down]
    return HostReport(
        adapter.name,
        adapter.title,
        adapter.proof,
        adapter.program(place),
        adapter.is_present(place),
        tuple(sorted(scopes)),
        len(told),
        _count(told, DELIVERED),
        _count(told, CUT),
        _count(told, DROPPED),
        len(said) - len(told),
        max((line.time for line in said), default=None),
        (*what_is_lost(device, adapter), *_open_steps(device, adapter, scopes, lines, place)),
        tuple((*adapter.advice(place), *hooks_of_the_project(adapter, place)) if scopes else ()),
    )


def _count(lines: list[Delivery], status: str) -> int:
    return sum(line.status == status for line in lines)


def _open_steps(
    device: Device, adapter: HostAdapter, scopes: dict[str, float], lines: list[Delivery], place: Place
) -> list[str]:
    if not scopes:
        return []
    since = max(scopes.values())
    try:
        with Call(f"adapter '{adapter.name}'", "saying what is open"):
            steps = list(adapter.open_steps(place))
            last = float(adapter.last_session(adapter.user_folder(device)))
    except AgentmError as error:
        return [f"it cannot be asked: {error.message}"]
    if last > since + _NEW_SESSION and not any(line.time > since for line in lines):
        steps.append(f"a session ran {spoken_time(last)} without our hooks: it has not taken the new settings")
    return steps


def spoken_time(moment: float) -> str:
    """`today 09:12`, or the date."""
    then = datetime.fromtimestamp(moment).astimezone()
    is_today = then.date() == datetime.fromtimestamp(time.time()).astimezone().date()
    return f"{'today' if is_today else then.date().isoformat()} {then:%H:%M}"
