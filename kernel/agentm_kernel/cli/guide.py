"""What a person wants to do, and which command does it: the groups of `agentm --help`, words that people guess, and
what `agentm` alone says.

Commands of plugins that are released with the kernel have their line in `guide.toml`, so that help imports none of
them. Others are listed by what their distribution says of itself.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from typing import Any

import click

from agentm_kernel.cli import report, shown
from agentm_kernel.device.installed import NOTES
from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins.table import load_plugin
from agentm_kernel.state import Device

_loader: Any = __spec__.loader  # it reads zip files too
_GUIDE = tomllib.loads(_loader.get_data(os.path.join(os.path.dirname(__file__), "guide.toml")).decode())
GROUPS: dict[str, dict[str, str]] = _GUIDE["groups"]
BELOW: dict[str, str] = _GUIDE["below"]
DESCRIBED = frozenset(name for lines in (*GROUPS.values(), BELOW) for name in lines)
GUESSES = {word: command for command, words in _GUIDE["meant"].items() for word in words.split(", ")}
"""Words that are no commands, and what people mean by them."""
GUESSES_WITH = {("git", "sync"): "git sync"}
"""What they mean by a word where the store of this device is of that protocol."""


def show_overview(device: Device, of_plugins: Iterable[str]) -> int:
    """`agentm` alone: what the project's memory holds, and what newcomers do next. 1 if the store cannot be had."""
    code = 0
    try:
        click.echo(shown(_held(device)))
    except AgentmError as error:
        code = 1
        report(error)
    click.echo()
    installed = {"doctor", "help", *of_plugins}
    rows = [row for name, row in _GUIDE["next"].items() if name in installed]
    width = max(len(command) for command, _ in rows)
    for command, about in rows:
        click.echo(f"  {command:<{width}}  {about}")
    return code


def _held(device: Device) -> str:
    memory = device.memory()
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
