"""Work in a child process, which goes on with what is late for a minute at most, whether or not its caller waits.

Hooks fork before they load what the child needs. Where processes cannot be forked, what is late ends with its caller.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.cli import end_process, exit_code_of
from agentm_kernel.errors import PluginError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_IN_THE_BACKGROUND = 60.0


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


def in_a_child(work: Callable[[], int]) -> int:
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
