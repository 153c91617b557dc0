"""Events of an agent's life: read from standard input, where agent hosts put them, and told to plugins.

A sync over a slow network may take many seconds, and an agent waits for its hook. So plugins are told in a child
process, each with a time of its own; the child goes on with what is late for a minute at most, whether or not its
caller waits. Hooks fork before they load what the child needs. Where processes cannot be forked, what is late ends
with its caller.
"""

from __future__ import annotations

import _thread
import os
import sys

from agentm_kernel import errors
from agentm_kernel.cli import end_process, exit_code_of, patience, report
from agentm_kernel.errors import AgentmError, one_line
from agentm_kernel.files import in_a_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentm_kernel.state import Device

LONGEST_EVENT = 1 << 20
_FOR_INPUT = 1.0  # seconds
_FOR_WHAT_IS_LATE = 60.0


def tell_plugins(device: Device, name: str, cwd: str | None) -> int:
    """`agentm event NAME`. Lines of plugins go to standard error, because agent hosts read standard output.

    The exit code is 1 if a plugin failed, was late, or there is no such event; never 2, which agent hosts take for
    "erase the prompt".
    """
    from agentm_kernel.device.installed import listens_to
    from agentm_kernel.plugins.events import EVENTS, is_event
    from agentm_kernel.projects import find_project_root

    if not is_event(name):
        known = ", ".join(event.name for event in EVENTS)
        raise AgentmError(f"there is no event '{name}'", hint=f"events are {known}")
    payload = read_event()
    root = find_project_root(cwd or working_directory(payload))  # no such folder: an error, whoever listens
    if not any(listens_to(record, "agentm_event") for record in device.plugins.records):
        return 0
    return in_a_child(lambda: tell(device, name, payload, root))


def tell(device: Device, name: str, payload: dict[str, object], cwd: str | None) -> int:
    """Tell plugins once for each store involved: the default and the project's own. 1 if one failed or was late."""
    from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
    from agentm_kernel.plugins.hookspecs import HookContext
    from agentm_kernel.projects import find_project_root

    root, seconds = find_project_root(cwd), patience(device.environ, PATIENCE)
    bound = device.bound_store(root)
    said: dict[tuple[str, str | None, str | None], None] = {}
    for each in [device] if bound is None else [device, device.of_store(bound)]:
        caller = HookCaller(HookContext(each, root), patience=seconds)
        for line in caller.event(name, payload):
            sys.stderr.write(f"{one_line(line)}\n")
        # Several plugins that cannot have the store say the same: once is enough.
        said |= dict.fromkeys((failure.message, failure.hint, failure.code) for failure in caller.failures)
    for message, hint, code in said:
        error = errors.PluginError(message, hint=hint)
        error.code = code
        report(error)
    return int(bool(said))


def read_event() -> dict[str, Any]:
    """The event on standard input; nothing when a person runs the command, or when nothing comes.

    It is read until it is complete, and for a second at most: not every host closes the pipe.
    """
    chunks: list[bytes] = []
    finished = _thread.allocate_lock()

    def receive() -> None:
        try:
            while sum(map(len, chunks)) <= LONGEST_EVENT and not os.isatty(0) and (chunk := os.read(0, 1 << 16)):
                chunks.append(chunk)
                if chunk.rstrip().endswith(b"}") and isinstance(_parsed(b"".join(chunks)), dict):
                    break
        except OSError:
            pass  # closed, or a directory: there is no event
        finally:
            finished.release()

    finished.acquire()
    if not in_a_thread(receive):
        receive()
    finished.acquire(timeout=_FOR_INPUT)
    data = b"".join(chunks)
    if len(data) > LONGEST_EVENT:
        raise AgentmError(f"the host's event has more than {LONGEST_EVENT:,} bytes")
    event = _parsed(data) if data.strip() else {}
    if isinstance(event, AgentmError):
        raise event
    return event


def _parsed(data: bytes) -> dict[str, Any] | AgentmError:
    """The event, or what is wrong with it: that it is not complete yet, perhaps."""
    from agentm_kernel.device.json_text import parse

    try:
        event = parse(data)
    except ValueError as error:
        return AgentmError(f"the host's event is not JSON: {error}")
    return event if isinstance(event, dict) else AgentmError("the host's event is not a JSON object")


def working_directory(event: dict[str, Any]) -> str | None:
    """Where the session starts, `None` for the current directory; a folder that is not there is an error."""
    roots = event.get("workspace_roots")  # Cursor's word for it
    cwd = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    if cwd is not None and not (isinstance(cwd, str) and os.path.isdir(cwd)):
        raise AgentmError(f"the host named {ascii(cwd)} as the working directory, and there is no such folder")
    return cwd


def in_the_background(work: Callable[[], int], *, wait: float = 0.0, or_here: bool = True) -> bool:
    """Let a child do `work`, however long its caller lives, and wait for it for so many seconds at most.

    Where no child can be had it is done here, unless the caller does not want that. Whether it is done.
    """
    reading = _start(work, is_heard=False)
    if reading is None:
        if or_here:
            work()
        return or_here
    if wait:
        import select

        select.select([reading], [], [], wait)  # it says nothing but that it is done
    os.close(reading)
    return True


def in_a_child(work: Callable[[], int]) -> int:
    """The exit code of `work`, whose standard error is copied to ours until it is done; what is late goes on."""
    reading = _start(work, is_heard=True)
    if reading is None:
        return work()
    code = b""
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            said, _, last = line.rpartition(b"\0")  # a plugin need not end its last line
            if last != line and last.strip().isdigit():
                code = last.strip()
                sys.stderr.buffer.write(said)
                break
            sys.stderr.buffer.write(line)
    sys.stderr.flush()
    if code:
        return int(code)
    hint = "`agentm plugins list --verify` may say which"
    raise errors.PluginError("a plugin ended the process that told it", hint=hint)


def _start(work: Callable[[], int], *, is_heard: bool) -> int | None:
    """Our end of a pipe on which a child says the exit code of `work`, after its standard error if that `is_heard`.

    The child keeps that end, too: what it writes must not fail when its caller has gone. `None` where no child can be
    had: the system knows none, or a limit allows no more.
    """
    if not hasattr(os, "fork"):
        return None
    sys.stderr.flush()
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if child != 0:
        os.close(writing)
        return reading
    code = 1
    try:
        from agentm_kernel.plugins import wait_for_late

        nothing = os.open(os.devnull, os.O_RDWR)
        os.setsid()  # what ends the agent's session does not end a sync half way
        for descriptor, target in ((0, nothing), (1, nothing), (2, writing if is_heard else nothing)):
            os.dup2(target, descriptor)  # nobody's stream is held open by the child
        code = exit_code_of(work)
        sys.stderr.flush()
        os.write(writing, b"\0%d\n" % code)
        os.dup2(nothing, 2)
        os.close(writing)
        wait_for_late(_FOR_WHAT_IS_LATE)
    finally:  # whatever goes wrong, this process ends here: going on, it would answer the agent host a second time
        end_process(code)
