"""What agent hosts add to a person's page: what agents were told, and whether it arrived."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import Panel, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_hosts.adapter import HostAdapter
    from agentm_hosts.settling import Delivery
    from agentm_kernel.plugin import Device, HookContext

    Blocks = list[Mapping[str, Any]]

_SESSIONS = 6
_LINES = 200
_SECONDS = 1.0
_EVENTS = {
    "session-start": "when the session began",
    "prompt": "with a prompt",
    "pre-compact": "before the conversation was summarised",
    "post-compact": "after the conversation was summarised",
    "turn-end": "at the end of a turn",
}
_ARRIVED = {
    "delivered": ("ok", "arrived"),
    "cut": ("warn", "cut short"),
    "dropped": ("fail", "did not arrive"),
    "pending": ("info", "not seen yet"),
    "unknown": ("info", "cannot be told"),
}
_WORST = ("dropped", "cut", "pending", "unknown", "delivered")


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel]:
    return [Panel("told", "What agents were told", "today", partial(_told, context.device))]


def _told(device: Device, query: Mapping[str, str]) -> Blocks:
    """Each connected host and its latest sessions; with `session`, everything that one was told."""
    from agentm_hosts.connecting import adapters, connected_scopes
    from agentm_hosts.settling import settle

    connected = [adapter for adapter in adapters(device) if connected_scopes(device.state_dir, adapter.name)]
    if not connected:
        return [_nobody()]
    told = [
        (adapter, line) for adapter in connected for line in settle(device, adapter, seconds=_SECONDS) if line.receipt
    ]
    told.sort(key=lambda pair: pair[1].time, reverse=True)
    if query.get("session"):
        return _session(
            [pair for pair in told if (pair[0].name, pair[1].session) == (query.get("host"), query["session"])]
        )
    rows = [_host(device, adapter) for adapter in connected]
    return [{"type": "rows", "rows": rows}, *_latest(told)]


def _nobody() -> Mapping[str, Any]:
    row = {
        "status": "info",
        "label": "No agent is connected",
        "text": "Agents are told nothing by themselves until one is.",
        "hint": "run `agentm setup`: it shows what it would change, and asks",
    }
    return {"type": "rows", "rows": [row]}


def _host(device: Device, adapter: HostAdapter) -> Mapping[str, Any]:
    """One line per host, as `agentm doctor` has it. The host itself is not asked: that takes a second each."""
    from agentm_hosts.doctor import problems_of
    from agentm_hosts.report import report_of

    found = report_of(device, adapter, patience=0)
    problem = next(iter(problems_of(adapter, found)), None)
    status = "warn" if problem else "ok" if found.told else "info"
    return {
        "status": status,
        "badge": None if problem or found.told else "connected",
        "label": adapter.title,
        "text": found.deliveries,
        "hint": problem,
    }


def _latest(told: Sequence[tuple[HostAdapter, Delivery]]) -> Blocks:
    """The latest sessions, each in a line: where, what it was told, and whether all of that arrived."""
    sessions: dict[tuple[str, str], list[tuple[HostAdapter, Delivery]]] = {}
    for adapter, line in told:
        sessions.setdefault((adapter.name, line.session), []).append((adapter, line))
    rows = []
    for (host, session), pairs in list(sessions.items())[:_SESSIONS]:
        adapter, newest = pairs[0]
        lines = [line for _, line in pairs]
        status, word = _ARRIVED[min((line.status for line in lines), key=_WORST.index)]
        notes = {key for line in lines for key in line.notes}
        what = f"{_count(len(lines), 'text')} with {_count(len(notes), 'note')}"
        row = {
            "status": status,
            "badge": word,
            "label": f"{adapter.title} in {os.path.basename(newest.cwd) or 'an unknown folder'}",
            "text": what,
            "time": newest.time,
            "open": {"host": host, "session": session} if session else None,
        }
        rows.append(row)
    return [{"type": "heading", "text": "Latest sessions"}, {"type": "rows", "rows": rows}] if rows else []


def _session(told: Sequence[tuple[HostAdapter, Delivery]]) -> Blocks:
    if not told:
        return [{"type": "text", "text": "Nothing is known of this session any more."}]
    adapter, newest = told[0]
    where = f"{adapter.title}, session {newest.session}, in {newest.cwd or 'an unknown folder'}."
    items = [_telling(line) for _, line in told[:_LINES]]
    left = len(told) - _LINES
    more = [{"type": "text", "text": f"{left} older ones: `agentm log`", "quiet": True}] if left > 0 else []
    return [{"type": "text", "text": where, "quiet": True}, {"type": "timeline", "items": items}, *more]


def _telling(line: Delivery) -> Mapping[str, Any]:
    status, word = _ARRIVED.get(line.status, ("info", line.status))
    return {
        "time": line.time,
        "title": f"{_count(line.length, 'character')} {_EVENTS.get(line.event, line.event)}",
        "status": status,
        "badge": word,
        "notes": list(line.notes),
        "text": "" if line.notes else "The state of the project, and no note.",
    }


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
