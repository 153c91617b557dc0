"""A limit for commands that only look something up: a store that hangs must not hang the agent that asks."""

from __future__ import annotations

import _thread
import os
import sys
import time

from agentm_kernel.cli.reporting import report
from agentm_kernel.errors import AgentmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

PATIENCE_VARIABLE = "AGENTM_PATIENCE"
SECONDS = 1.9


def patience(environ: Mapping[str, str]) -> float:
    """Seconds that a command may take; `$AGENTM_PATIENCE` for stores that are far away."""
    try:
        return max(0.1, float(environ.get(PATIENCE_VARIABLE, "")))
    except ValueError:
        return SECONDS


def limit(command: str, seconds: float) -> None:
    """End this process with an error that says who was waited for, unless it has ended by then."""
    _thread.start_new_thread(_end_late, (command, time.monotonic() + seconds, seconds))


def _end_late(command: str, deadline: float, seconds: float) -> None:
    time.sleep(max(0.0, deadline - time.monotonic()))
    report(
        AgentmError(
            f"`agentm {command}` took more than {seconds:g} s{waiting_for()}",
            hint=f"run `agentm doctor`; {PATIENCE_VARIABLE}=30 in the environment lets it take longer",
        )
    )
    sys.stderr.flush()
    end_process(1)


def waiting_for() -> str:
    """Which plugin is being waited for, in words that follow a sentence; nothing if it is none."""
    calling = sys.modules.get("agentm_kernel.plugins.calling")
    if calling is None or not calling.active:
        return ""
    label, doing = calling.active[-1]
    return f": the {label} has not answered ({doing})"


def end_process(code: int) -> NoReturn:
    """`os._exit`, also while a plugin runs that is not allowed to call it."""
    calling = sys.modules.get("agentm_kernel.plugins.calling")
    leave: Callable[[int], NoReturn] = os._exit if calling is None else calling.end_process
    leave(code)
