"""`agentm event NAME`: every plugin is told, nobody waits for long, and what takes longer is finished all the same.

A sync over a slow network may take many seconds, and an agent waits for its hook. So plugins are called in a child
process, each with a time of its own; the command ends when all of them have answered or are late, and the child goes
on with those that are.
"""

from __future__ import annotations

import sys

from agentm_kernel.cli import patience, report
from agentm_kernel.cli.background import in_a_child
from agentm_kernel.cli.hook_input import read_event, working_directory
from agentm_kernel.errors import AgentmError, PluginError, one_line
from agentm_kernel.plugins.events import EVENTS, is_event
from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
from agentm_kernel.plugins.values import HookContext
from agentm_kernel.projects import find_project_root
from agentm_kernel.state.routing import bound_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.state import Device


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
    return in_a_child(lambda: _tell(callers, name, payload))


def tell(device: Device, name: str, payload: dict[str, object], cwd: str | None) -> int:
    """The same in this process, for a caller that is in the background already."""
    callers = _callers(device, cwd)
    return _tell(callers, name, payload) if callers[0].has_listeners("agentm_event") else 0


def _callers(device: Device, cwd: str | None) -> list[HookCaller]:
    """One for each store that is involved: the default one, and the one that the project is bound to."""
    seconds = patience(device.environ, PATIENCE)
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
