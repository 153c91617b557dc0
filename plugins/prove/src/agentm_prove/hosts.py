"""Trials of agent hosts. Their adapters are other plugins, found by the entry-point group `agentm.hosts`.

Each adapter is asked for the text of a session that starts. Where the command `agentm hosts check` is installed, it
also starts the program of each connected host and sees whether that text reaches its model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_prove.trial import Broken, NotTried, Trial
from agentm_prove.trials.session_start import AGENTM, check_named, project_with_plan, session_text

if TYPE_CHECKING:
    from agentm_kernel.plugin import Device
    from agentm_prove.laboratory import Laboratory

GROUP = "agentm.hosts"
_COMMANDS = "agentm.commands"
_LIMIT = 20.0


def host_trials(device: Device) -> list[Trial]:
    """One for each agent host that an adapter is installed for; one that says so where there is none."""
    names = sorted({record.name for record in device.plugins.of(GROUP)})
    if not names:
        return [Trial("agent-hosts", "what an agent is told reaches it", _no_adapter)]
    connected = _connected(device)
    return [
        Trial(f"host {name}", f"what {name} is told reaches its model", partial(_try_host, name, name in connected))
        for name in names
    ]


def _no_adapter(_laboratory: Laboratory) -> str:
    raise NotTried(
        "no adapter for an agent host is installed; `pip install agentm-hosts` brings those for nine of them"
    )


def _try_host(name: str, is_connected: bool, laboratory: Laboratory) -> str:
    home = project_with_plan(laboratory)
    text = session_text(home, ("--host", name))
    check_named(home, text, f"the answer for {name}")
    said = "its adapter answers with the project's plan"
    if not is_connected:
        return f"{said}; it is not connected here, so the program was not started"
    return f"{said}; {_check_program(name)}"


def _connected(device: Device) -> set[str]:
    """The agent hosts that `agentm hosts list` calls connected; none where that command is not installed."""
    if not any(record.name == "hosts" for record in device.plugins.of(_COMMANDS)):
        return set()
    try:
        answer = json.loads(_agentm("hosts", "list", "--json").stdout)
    except (ValueError, subprocess.TimeoutExpired):
        return set()
    rows = answer.get("hosts", []) if isinstance(answer, dict) else []
    return {str(row.get("name") or row.get("host")) for row in rows if isinstance(row, dict) and row.get("connected")}


def _check_program(name: str) -> str:
    try:
        done = _agentm("hosts", "check", name, "--json")
    except subprocess.TimeoutExpired:
        return f"its program did not finish within {_LIMIT:g} s, so that it reads the text was not seen"
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    if done.returncode == 0:
        return "its program was started, and its model got the text"
    detail = _detail(done.stdout) or (said[-1] if said else f"exit {done.returncode}")
    if "cannot check" in done.stdout.lower() + done.stderr.lower():
        return f"its program cannot be checked here: {detail}"
    raise Broken(f"its program was started, and its model did not get the text: {detail}")


def _detail(text: str) -> str:
    try:
        answer: Any = json.loads(text)
    except ValueError:
        return ""
    found = answer.get("detail") or answer.get("reason") if isinstance(answer, dict) else ""
    return str(found or "")


def _agentm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as the user runs it: connections are those of this device."""
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-P", "-c", AGENTM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_LIMIT,
        check=False,
    )
