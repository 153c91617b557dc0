"""`agentm hook session-start`: what an agent reads first. One process, a hard deadline, always exit 0.

The host gives its event as JSON on standard input; the answer goes out in the envelope that host understands. What
cannot be had is one visible line, because the operator has no other place to see it.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from agentm_kernel.errors import AgentmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.resolution import Resolution

DEADLINE_SECONDS = 2.0
_LONGEST_EVENT = 1 << 20
_TEXT_LIMIT = 10_000
"""Claude Code cuts longer context off; Codex's 2,500 tokens are about as much. The others allow more."""


def answer(host: str | None) -> None:
    """Print the context for a session that starts."""
    reply = _Reply(host or "plain")
    _thread.start_new_thread(_give_up_late, (reply, time.monotonic() + DEADLINE_SECONDS))
    try:
        text = _context(read_event())
    except AgentmError as error:
        hint = f" ({error.hint})" if error.hint else ""
        text = f"[agentm] Project state is not available: {error.message}{hint}"
    except Exception as error:  # noqa: BLE001 - the session must start; what broke is shown in it
        text = f"[agentm] Project state is not available: {type(error).__name__}: {error}"
    reply.send(text)


def _give_up_late(reply: _Reply, deadline: float) -> None:
    """Answer for a main thread that is stuck, in a system call perhaps, where nothing else can reach it."""
    time.sleep(max(0.0, deadline - time.monotonic()))
    reply.send(
        f"[agentm] Project state is not available: no answer within {DEADLINE_SECONDS:g} s. Run `agentm doctor`."
    )
    os._exit(0)


class _Reply:
    """The one answer of this process, whoever is first to give it."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._unsent = _thread.allocate_lock()

    def send(self, text: str) -> None:
        if not self._unsent.acquire(blocking=False):
            return
        if text:
            sys.stdout.buffer.write(_envelope(self._host, text[:_TEXT_LIMIT]).encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()


def _envelope(host: str, text: str) -> str:
    if host == "plain":
        return text + "\n"
    quoted = _json_string(text)
    if host == "cursor":
        return f'{{"additional_context": {quoted}}}\n'
    return f'{{"hookSpecificOutput": {{"hookEventName": "SessionStart", "additionalContext": {quoted}}}}}\n'


def _json_string(text: str) -> str:
    try:
        from _json import encode_basestring_ascii  # `json` itself costs as much as the rest of this hook
    except ImportError:
        from json.encoder import encode_basestring_ascii
    quoted: str = encode_basestring_ascii(text)
    return quoted


# ------------------------------------------------------------------------------------------------ the event


def read_event() -> dict[str, Any]:
    """The host's event; nothing when a person runs the command in a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    data = sys.stdin.buffer.read(_LONGEST_EVENT + 1)
    if not data.strip():
        return {}
    from agentm_kernel.config.json_text import parse_bytes

    try:
        event = parse_bytes(data) if len(data) <= _LONGEST_EVENT else None
    except ValueError as error:
        raise AgentmError(f"the host's event is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise AgentmError("the host's event is not a JSON object of reasonable size")
    return event


def _working_directory(event: dict[str, Any]) -> str:
    roots = event.get("workspace_roots")  # Cursor's word for it
    cwd = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None) or os.getcwd()
    if not isinstance(cwd, str) or not os.path.isdir(cwd):
        raise AgentmError(f"the host named {cwd!r} as working directory, and there is no such folder")
    return cwd


# ------------------------------------------------------------------------------------------------ the text


def _context(event: dict[str, Any]) -> str:
    from agentm_kernel.state.routing import route_project

    resolution = route_project({"cwd": _working_directory(event)}, read_only=True)
    parts = [_state_block(resolution), *_sections(resolution)]
    return "\n\n".join(part for part in parts if part)


def _state_block(resolution: Resolution) -> str:
    from agentm_kernel.state.plans import PLAN, PROGRESS, active_marker, list_plan_files
    from agentm_kernel.state.routing import state_file_path

    plans = list_plan_files(resolution)
    header = f"[agentm] Project state for this repo lives in {_place(resolution)}:"
    if not plans and active_marker(resolution) is None:
        return ""
    if plans == [PLAN] and active_marker(resolution) is None:
        return "\n".join(
            (
                header,
                f"  PLAN.md:     {state_file_path(resolution, PLAN)}",
                f"  progress.md: {state_file_path(resolution, PROGRESS)}{_not_started(resolution, PROGRESS)}",
                "Read PLAN.md before answering plan-status questions or running /work, /review, /release.",
            )
        )
    return "\n".join((header, *_named_plans(resolution, plans)))


def _named_plans(resolution: Resolution, plans: list[str]) -> list[str]:
    from agentm_kernel.errors import ActivePlanError
    from agentm_kernel.state.plans import active_marker, resolve_active_plan
    from agentm_kernel.state.routing import state_file_path

    lines = ["Named-plan mode - this repo has more than one plan:"]
    lines += [f"  {plan:<22} {state_file_path(resolution, plan)}" for plan in plans]
    marker = active_marker(resolution)
    if marker is not None:
        try:
            plan, progress = resolve_active_plan(resolution)
            lines.append(f"Active plan (.harness/active-plan -> {marker}): {state_file_path(resolution, plan)}")
            lines.append(
                f"  {progress:<22} {state_file_path(resolution, progress)}{_not_started(resolution, progress)}"
            )
        except ActivePlanError as error:
            lines.append(f"Active plan: DANGLING - {error.message}; {error.hint}.")
    lines.append("Read the plan you own before answering plan-status questions or running /work, /review, /release.")
    return lines


def _place(resolution: Resolution) -> str:
    if resolution.backend is None or not resolution.is_synced:
        return ".harness/"
    return f"the synced store, not in .harness/{_copy_age(resolution.backend)}"


def _copy_age(backend: StorageBackend) -> str:
    from agentm_kernel.seam.backend import HostCopy
    from agentm_kernel.seam.layer import unwrap

    store = unwrap(backend)
    if not isinstance(store, HostCopy):
        return ""
    age = store.copy_age()
    return " (local copy, never pulled)" if age is None else f" (local copy, {age / 60:.0f} min old)"


def _not_started(resolution: Resolution, progress: str) -> str:
    from agentm_kernel.state.files import read_state_file

    return "" if read_state_file(resolution, progress) else " (not started)"


def _sections(resolution: Resolution) -> list[str]:
    """What plugins add, and a line for each that failed. Without such plugins, pluggy is not imported."""
    from agentm_kernel.host.manager import current_context, installed_plugins
    from agentm_kernel.host.values import HookContext

    here = current_context()
    context = HookContext(here.surroundings, resolution.root, here.config, resolution.backend, resolution.slug)
    host = installed_plugins(context)
    sections = [f"## {section.title}\n\n{section.text}" for section in host.session_sections()]
    return sections + [f"[agentm] {failure.message}" for failure in host.failures]
