"""`agentm event NAME`: every plugin is told, nobody waits for long, and what takes longer is finished all the same.

A sync over a slow network may take many seconds, and an agent waits for its hook. So plugins are called in a child
process, each with a time of its own; the command ends when all of them have answered or are late, and the child goes
on for a minute at most with those that are. Where processes cannot be forked, what is late ends with the command.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.cli import PATIENCE_VARIABLE, end_process, exit_code_of, patience, report
from agentm_kernel.cli.hook_input import read_event, working_directory
from agentm_kernel.errors import AgentmError, PluginError, one_line
from agentm_kernel.plugins.events import EVENTS, is_event
from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
from agentm_kernel.plugins.values import HookContext
from agentm_kernel.projects import find_project_root
from agentm_kernel.state.routing import bound_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.state import Device

_IN_THE_BACKGROUND = 60.0


def tell_plugins(device: Device, name: str, cwd: str | None) -> int:
    """Tell every plugin what happened; their lines go to standard error, because agent hosts read standard output.

    The exit code is 1 if a plugin failed, was late, or there is no such event; never 2, which agent hosts take for
    "erase the prompt".
    """
    if not is_event(name):
        raise AgentmError(
            f"there is no event '{name}'", hint=f"events are {', '.join(known.name for known in EVENTS)}"
        )
    payload = read_event()
    callers = _callers(device, cwd or working_directory(payload))
    if not callers[0].has_listeners("agentm_event"):
        return 0
    return _in_a_child(lambda: _tell(callers, name, payload))


def tell(device: Device, name: str, payload: dict[str, object], cwd: str | None) -> int:
    """The same in this process, for a caller that is in the background already."""
    callers = _callers(device, cwd)
    return _tell(callers, name, payload) if callers[0].has_listeners("agentm_event") else 0


def _callers(device: Device, cwd: str | None) -> list[HookCaller]:
    """One for each store that is involved: the default one, and the one that the project is bound to."""
    seconds = patience(device.environ) if PATIENCE_VARIABLE in device.environ else PATIENCE
    root = find_project_root(cwd)
    devices = [device]
    if (bound := bound_store(device, root)) is not None:
        devices.append(device.of_store(bound))
    return [HookCaller(HookContext(each, root), patience=seconds) for each in devices]


def _tell(callers: list[HookCaller], name: str, payload: dict[str, object]) -> int:
    for caller in callers:
        for line in caller.event(name, payload):
            sys.stderr.write(f"{one_line(line)}\n")
    failures = [failure for caller in callers for failure in caller.failures]
    # Several plugins that cannot have the store say the same: once is enough.
    said = dict.fromkeys((failure.message, failure.hint, failure.code) for failure in failures)
    for message, hint, code in said:
        error = PluginError(message, hint=hint)
        error.code = code
        report(error)
    return int(bool(said))


def in_the_background(work: Callable[[], int], *, wait: float = 0.0) -> None:
    """Let a child do `work`, however long its caller lives, and wait for it for so many seconds at most."""
    if not hasattr(os, "fork"):
        work()
        return
    sys.stderr.flush()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        _be_the_child(work, writing, is_heard=False)
    os.close(writing)
    if wait:
        import select

        select.select([reading], [], [], wait)  # it says nothing but that it is done
    os.close(reading)


def _in_a_child(work: Callable[[], int]) -> int:
    """The exit code of `work`, whose standard error is copied to ours until it is done; what is late goes on."""
    if not hasattr(os, "fork"):
        return work()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(work, writing)
    os.close(writing)
    code = b""
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if line.startswith(b"\0"):
                code = line[1:].strip()
                break
            sys.stderr.buffer.write(line)
    sys.stderr.flush()
    if code.isdigit():
        return int(code)
    raise PluginError("a plugin ended the process that told it", hint="`agentm plugins list --verify` may say which")


def _be_the_child(work: Callable[[], int], writing: int, *, is_heard: bool = True) -> None:
    """Do the work where nobody's stream is held open by it, say the exit code, and finish what is late. Whatever goes
    wrong, this process ends here: going on, it would answer the agent host a second time.
    """
    code = 1
    try:
        from agentm_kernel.plugins import wait_for_late

        nothing = os.open(os.devnull, os.O_RDWR)
        os.setsid()  # what ends the agent's session does not end a sync half way
        for descriptor, target in ((0, nothing), (1, nothing), (2, writing if is_heard else nothing)):
            os.dup2(target, descriptor)
        code = exit_code_of(work)
        try:
            sys.stderr.flush()
            os.write(writing, b"\0%d\n" % code)
        except OSError:
            pass  # the caller has gone, and need not know
        os.dup2(nothing, 2)
        os.close(writing)
        wait_for_late(_IN_THE_BACKGROUND)
    finally:
        end_process(code)
