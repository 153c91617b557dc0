"""Trials of agent hosts. Their adapters are other plugins, found by the entry-point group `agentm.hosts`.

Each adapter is asked for the text of a session that starts. `agentm hosts check` then starts the program of each
connected host and sees whether that text reaches its model. A host whose program was not started is never "kept".
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
    trials = [
        Trial(f"host {name}", f"what {name} is told reaches its model", partial(_try_host, name))
        for name in names
        if name in connected
    ]
    if others := [name for name in names if name not in connected]:
        promise = "what agents of other hosts are told reaches them"
        trials.append(Trial("hosts-not-connected", promise, partial(_try_adapters, others)))
    return trials


def _no_adapter(_laboratory: Laboratory) -> str:
    raise NotTried(
        "no adapter for an agent host is installed; `pip install agentm-hosts` brings those for nine of them"
    )


def _try_host(name: str, laboratory: Laboratory) -> str:
    _ask_adapters([name], laboratory)
    _check_program(name)
    return "its adapter answers with the project's plan; its program was started, and its model got the text"


def _try_adapters(names: list[str], laboratory: Laboratory) -> str:
    """A wrong answer is a broken promise. A right one is not proof that it arrives: no program was started."""
    _ask_adapters(names, laboratory)
    raise NotTried(
        f"not connected here, so no program was started: {', '.join(names)}; what agentm answers them is right"
    )


def _ask_adapters(names: list[str], laboratory: Laboratory) -> None:
    home = project_with_plan(laboratory)
    for name in names:
        check_named(home, session_text(home, ("--host", name)), f"the answer for {name}")


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


def _check_program(name: str) -> None:
    """Return if the model got the text. `NotTried` where `agentm hosts check` says why it cannot tell."""
    try:
        done = _agentm("hosts", "check", name, "--json")
    except subprocess.TimeoutExpired:
        raise NotTried(f"connected, but its program did not finish within {_LIMIT:g} s") from None
    if done.returncode == 0:
        return
    try:
        answer: Any = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise Broken(f"`agentm hosts check {name}` failed: {said[-1]}") from None
    if reason := answer.get("error") or answer.get("cannot"):
        raise NotTried(f"connected, but {reason}")
    raise Broken("its program was started, and its model did not get the text")


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
