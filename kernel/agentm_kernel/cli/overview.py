"""`agentm` alone: what this project's memory holds, and the commands that a newcomer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel.cli import shown
from agentm_kernel.cli.plugin_commands import plugin_commands
from agentm_kernel.errors import AgentmError
from agentm_kernel.seam.layout import HARNESS, PROJECT_RECORD

if TYPE_CHECKING:
    from agentm_kernel.state import Device
    from agentm_kernel.state.routing import Resolution

_MOST = 10_000
"""Notes are counted no further: whoever types a word waits."""

_NEXT = (
    ("setup", "agentm setup", "connect your agents"),
    ("save", "agentm save TEXT", "save a note"),
    ("search", "agentm search WORDS", "find one"),
    ("view", "agentm view", "look at everything in the browser"),
    ("doctor", "agentm doctor", "check this installation"),
    ("help", "agentm --help", "every command"),
)


def show_overview(device: Device) -> int:
    """Print it; 1 if the store cannot be had."""
    code = 0
    try:
        click.echo(shown(_about(device.memory())))
    except AgentmError as error:
        code = 1
        click.echo(shown(f"error: {error.message}"), err=True)
        if error.hint:
            click.echo(shown(f"hint: {error.hint}"), err=True)
    installed = {"doctor", "help", *plugin_commands()}
    rows = [(command, about) for name, command, about in _NEXT if name in installed]
    width = max(len(command) for command, _ in rows)
    click.echo()
    for command, about in rows:
        click.echo(f"  {command:<{width}}  {about}")
    return code


def _about(memory: Resolution) -> str:
    assert memory.backend is not None
    place = memory.backend.describe()
    if memory.project_locator is None:
        return f"This folder is no project. The store is {place}."
    notes = plans = 0
    if memory.is_claimed and not memory.is_local_view:
        for number, info in enumerate(memory.backend.walk(memory.project_locator)):
            if not info.is_dir and info.locator.name != PROJECT_RECORD:
                is_state = HARNESS in info.locator.parts
                notes, plans = notes + (not is_state), plans + is_state
            if number > _MOST:
                return f"Project {memory.slug}: more than {_MOST:,} notes in {place}"
    held = f"{notes} note{'s' * (notes != 1)}" + (f" and {plans} plan files" if plans else "")
    return f"Project {memory.slug}: {held or 'nothing yet'} in {place}"
