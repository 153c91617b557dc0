"""`agentm hook session-start`: what an agent reads first. One process, a hard deadline, always exit 0.

The host gives its event as JSON on standard input; the answer goes out in the envelope that host understands. What
cannot be had is one visible line, because the operator has no other place to see it.
"""

from __future__ import annotations

import _thread
import os
import time

from agentm_kernel.cli.deadline import end_process, waiting_for
from agentm_kernel.errors import AgentmError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.state.device import Device
    from agentm_kernel.state.resolution import Resolution

DEADLINE_SECONDS = 1.9
_FOR_PLUGINS = 500
"""Characters that notes leave to whoever speaks after them."""
_CHARACTERS_PER_TOKEN = 4
_FOR_SENDING = 0.2
"""Seconds of the deadline that plugins leave, so that what they did not say can be said."""


def answer(device: Device, host: str | None) -> None:
    """Print the context for a session that starts."""
    reply = _Reply(host or "plain")
    try:
        _thread.start_new_thread(_answer_late, (reply,))
        _find_context(device, reply)
    except AgentmError as error:
        reply.add(_unavailable(error.message, error.hint))
    except Exception as error:  # noqa: BLE001 - the session must start; what broke is shown in it
        reply.add(_unavailable(f"{type(error).__name__}: {error}"))
    reply.send()


def _answer_late(reply: _Reply) -> None:
    """Answer for a main thread that is stuck, in a system call perhaps, where nothing else can reach it."""
    time.sleep(max(0.0, reply.time_left))
    reply.add(
        one_line(
            f"[agentm] Not everything is here: {reply.doing} took more than {DEADLINE_SECONDS:g} s{waiting_for()}. "
            "Run `agentm doctor`."
        )
    )
    reply.send()
    end_process(0)


class _Reply:
    """The one answer of this process, given by whoever is first, with what is known by then.

    It has standard output for itself: whatever else is printed, by a plugin or a program that it starts, goes to
    standard error from here on. Hosts take the output apart, and one stray line would spoil it.
    """

    def __init__(self, host: str) -> None:
        self.doing = "starting"
        self._deadline = time.monotonic() + DEADLINE_SECONDS
        self._host = host
        self._parts: list[str] = []
        self._unsent = _thread.allocate_lock()
        self._output = _taken_stdout()

    @property
    def time_left(self) -> float:
        """Seconds until the answer is given as it is."""
        return self._deadline - time.monotonic()

    @property
    def room(self) -> int:
        """Characters that the host still takes."""
        from agentm_kernel.cli.agent_hosts import CONTEXT_LIMIT

        return CONTEXT_LIMIT - sum(len(part) + 2 for part in self._parts)

    def add(self, part: str) -> None:
        if part:
            self._parts.append(part)

    def send(self) -> None:
        if not self._unsent.acquire(blocking=False) or not self._parts or self._output is None:
            return
        from agentm_kernel.cli.agent_hosts import session_context

        text = session_context(self._host, "\n\n".join(self._parts))
        view = memoryview(text.encode("utf-8", "backslashreplace"))
        try:
            while view:
                view = view[os.write(self._output, view) :]
        except OSError:
            pass  # the host has gone: there is nobody to tell


def _taken_stdout() -> int | None:
    """A descriptor of standard output that nobody else knows; `None` if it is closed."""
    try:
        output = os.dup(1)
    except OSError:
        return None
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return output


def _unavailable(message: str, hint: str | None = None) -> str:
    return one_line(f"[agentm] Project state is not available: {message}{f' ({hint})' if hint else ''}")


def _find_context(device: Device, reply: _Reply) -> None:
    from agentm_kernel.cli.agent_hosts import read_event, working_directory
    from agentm_kernel.cli.state_block import state_block

    reply.doing = "reading the host's event"
    cwd = working_directory(read_event())
    reply.doing = "finding the project's state"
    project = device.project(cwd)
    here = project.on_this_device()
    reply.add(state_block(here))
    reply.doing = "recalling notes"
    reply.add(_recalled(device, project, reply.room))
    reply.doing = "asking plugins"
    for section in _sections(device, here, reply.time_left - _FOR_SENDING):
        reply.add(section)


def _recalled(device: Device, project: Resolution, room: int) -> str:
    """What memory holds for this project, in the room that the state block leaves."""
    from agentm_kernel.device.installed import RECALL

    if not device.plugins.of(RECALL):
        return ""
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
