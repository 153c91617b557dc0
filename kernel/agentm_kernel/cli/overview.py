"""`agentm` alone: what this project's memory holds, and the commands that a newcomer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.cli import shown
from agentm_kernel.cli.plugin_commands import plugin_commands
from agentm_kernel.device.installed import NOTES
from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins.table import load_plugin

if TYPE_CHECKING:
    from agentm_kernel.state import Device
    from agentm_kernel.state.routing import Resolution

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
        click.echo(shown(_about(device, device.memory())))
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


def _about(device: Device, memory: Resolution) -> str:
    assert memory.backend is not None
    place = memory.backend.describe()
    if memory.project_locator is None:
        return f"This folder is no project. The store is {place}."
    notes = missing = 0
    if memory.is_claimed and not memory.is_local_view and device.plugins.of(NOTES):
        service: Any = load_plugin(device, NOTES, "notes")
        notes, missing = service(device).count(memory.backend, memory.project_locator)
    held = f"{'more than ' * bool(missing)}{notes} note{'s' * (notes != 1)}"
    return f"Project {memory.slug}: {held} in {place}"
