"""What is known about each host: connected or not, what arrived, and what only the user can do."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentm_hosts.connecting import adapters, connected_scopes, place_for
from agentm_hosts.settling import CUT, DELIVERED, DROPPED, settle
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
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
    writes_down: bool
    last: float | None
    open_steps: tuple[str, ...]

    @property
    def deliveries(self) -> str:
        """In words."""
        if not self.connected:
            return "-"
        if not self.told:
            return "nothing told yet"
        if not self.writes_down:
            return f"{self.told} told, last {spoken_time(self.last or 0)}; it does not write down what its model got"
        words = f"{self.delivered} of {self.told} delivered"
        words += f", {self.cut} cut" if self.cut else ""
        words += f", {self.dropped} dropped" if self.dropped else ""
        return f"{words}, last {spoken_time(self.last or 0)}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def reports(device: Device) -> list[HostReport]:
    """Every host that an adapter knows."""
    return [report_of(device, adapter) for adapter in adapters(device)]


def report_of(device: Device, adapter: HostAdapter, *, ask_host: bool = True) -> HostReport:
    scopes = connected_scopes(device.state_dir, adapter.name)
    place = place_for(device)
    lines = settle(device, adapter, seconds=1.0) if scopes else []
    told = [line for line in lines if line.receipt]
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
        adapter.writes_down,
        max((line.time for line in told), default=None),
        tuple(_open_steps(device, adapter, scopes, lines, ask_host=ask_host)),
    )


def _count(lines: list[Delivery], status: str) -> int:
    return sum(line.status == status for line in lines)


def _open_steps(
    device: Device, adapter: HostAdapter, scopes: dict[str, float], lines: list[Delivery], *, ask_host: bool
) -> list[str]:
    if not scopes:
        return []
    steps: list[str] = []
    try:
        scope = "user" if "user" in scopes else "project"
        steps = adapter.open_steps(place_for(device, scope)) if ask_host else []
    except (AgentmError, OSError) as error:
        steps = [f"it cannot be asked: {error}"]
    since = max(scopes.values())
    last = adapter.last_session(device.home)
    if last > since + _NEW_SESSION and not any(line.time > since for line in lines):
        steps.append(f"a session ran {spoken_time(last)} without our hooks: it has not taken the new settings")
    return steps


def spoken_time(moment: float) -> str:
    """`today 09:12`, or the date."""
    then = datetime.fromtimestamp(moment).astimezone()
    is_today = then.date() == datetime.fromtimestamp(time.time()).astimezone().date()
    return f"{'today' if is_today else then.date().isoformat()} {then:%H:%M}"
