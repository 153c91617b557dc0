"""Every command and option, of the kernel and of each plugin here, says what it is for."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import click
import pytest

from agentm_kernel.cli.app import own_command
from agentm_kernel.cli.command_table import KERNEL_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each by its whole name, groups and what is in them."""
    pending: list[tuple[str, click.Command | None]] = [(name, own_command(name)) for name in sorted(KERNEL_COMMANDS)]
    pending += [(point.name, point.load()) for point in entry_points(group="agentm.commands")]
    while pending:
        name, command = pending.pop()
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            pending += [(f"{name} {inner}", found) for inner, found in command.commands.items()]


COMMANDS = dict(sorted(commands()))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_each_of_its_options_have_a_text_for_people(name: str) -> None:
    command = COMMANDS[name]

    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []
