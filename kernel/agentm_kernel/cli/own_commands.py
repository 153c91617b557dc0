"""The kernel's own commands as click has them, each imported when it is asked for."""

from __future__ import annotations

import click

from agentm_kernel.cli.command_table import COMMANDS, DeclaredCommand, Parameter
from agentm_kernel.cli.names import GROUPS
from agentm_kernel.cli.output import current_device


def own_command(name: str) -> click.Command | None:
    """The command or group `name` of the kernel; `None` if there is none."""
    declared = [command for command in COMMANDS if command.path[0] == name]
    if name in GROUPS:
        module = __import__(f"agentm_kernel.cli.{name}", fromlist=["command"])
        found: click.Command = module.command
    elif not declared:
        return None
    elif len(declared[0].path) == 1:
        return _to_click(declared[0])
    else:
        found = click.Group(name, help="Answer the hooks of agent hosts.")
    if isinstance(found, click.Group):
        for command in declared:
            found.add_command(_to_click(command))
    return found


def _to_click(declared: DeclaredCommand) -> click.Command:
    return click.Command(
        declared.path[-1],
        params=[_parameter(parameter) for parameter in declared.parameters],
        callback=lambda **values: declared.run(current_device(), values),
        help=declared.help,
    )


def _parameter(parameter: Parameter) -> click.Parameter:
    kind = click.Choice(parameter.choices) if parameter.choices else None
    if not parameter.is_option:
        return click.Argument([parameter.key], type=kind)
    return click.Option(
        [parameter.name],
        type=kind,
        help=parameter.help,
        is_flag=parameter.flag,
        required=parameter.required,
        metavar=parameter.metavar,
    )
