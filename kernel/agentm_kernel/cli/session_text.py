"""What an agent reads when a session starts: its plans, its notes, what plugins add, and how to remember."""

from __future__ import annotations

import os
import sys

from agentm_kernel.errors import AgentmError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.cli.hook import HookCall
    from agentm_kernel.state.device import Device
    from agentm_kernel.state.resolution import Resolution

_FOR_PLUGINS = 500
"""Characters that notes leave to whoever speaks after them."""
_CHARACTERS_PER_TOKEN = 4
_FOR_SENDING = 0.2
"""Seconds of the deadline that plugins leave, so that what they did not say can be said."""
EMPTY = "[agentm] Memory is empty: nothing has been saved for this project yet."


def add_session_text(call: HookCall, project: Resolution, closing: str | None) -> None:
    """Part by part, so that what comes late costs nothing that was there before."""
    from agentm_kernel.cli.state_block import state_block
    from agentm_kernel.device.installed import RECALL
    from agentm_kernel.plugins.table import permitted

    call.doing = "finding the project's state"
    here = project.on_this_device()
    call.add(state_block(here))
    if call.device.plugins.of(RECALL) and permitted(call.device, RECALL):
        call.doing = "recalling notes"
        call.closing = how_to_remember() if closing is None else closing
        call.add(_recalled(call.device, project, call.room) or EMPTY)
    call.doing = "asking plugins"
    for section in _sections(call.device, here, call.time_left - _FOR_SENDING):
        call.add(section)


def how_to_remember() -> str:
    """Two lines for an agent with a shell. It may be one where this command is not on the search path."""
    program = os.path.abspath(sys.argv[0])
    agentm = program if os.path.basename(program) in ("agentm", "agentm.exe") else "agentm"
    return (
        f"[agentm] To remember a decision or a fact: `{agentm} save --kind decision --slug SHORT-NAME`, the text on "
        f"standard input.\n[agentm] To look something up: `{agentm} search WORDS`."
    )


def _recalled(device: Device, project: Resolution, room: int) -> str:
    """What memory holds for this project, in the room that the state block leaves."""
    from agentm_kernel.process_seam import recall_at_start

    try:
        return recall_at_start(device, project, max(1, (room - _FOR_PLUGINS) // _CHARACTERS_PER_TOKEN)).rstrip()
    except AgentmError as error:  # the session must start; what broke is shown in it
        return one_line(f"[agentm] Notes are not available: {error.message}")


def _sections(device: Device, project: Resolution, seconds: float) -> Iterator[str]:
    """What plugins add, and a line for each that failed. Where nobody listens, nothing is imported."""
    from agentm_kernel.device.installed import listens_to

    if not any(listens_to(record, "agentm_session_start") for record in device.plugins.records):
        return
    from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
    from agentm_kernel.plugins.values import HookContext

    context = HookContext(device, project.root, project, project.backend)
    caller = HookCaller(context, patience=max(0.1, min(PATIENCE, seconds)))
    for section in caller.session_sections():
        yield f"## {section.title}\n\n{section.text}"
    for failure in caller.failures:
        yield one_line(f"[agentm] {failure.message}")
