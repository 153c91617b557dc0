"""Commands as click has them, each imported when it is asked for: the kernel's own, and those that plugins bring.

Plugins bring them at the top (`vault`), or below a group of the kernel (`plugins check`). They are known from
metadata, by their entry points in the group `agentm.commands`.
"""

from __future__ import annotations

import os

import click

from agentm_kernel.cli.command_table import COMMANDS, GROUPS, DeclaredCommand, Parameter, misplaced
from agentm_kernel.cli.output import current_device
from agentm_kernel.device.installed import COMMANDS as OF_PLUGINS, PluginRecord
from agentm_kernel.errors import PluginError, one_line


def plugin_commands(group: str = "") -> dict[str, PluginRecord]:
    """Commands of installed plugins below `group`, or at the top; the kernel's own names cannot be taken."""
    found = {}
    for record in current_device().plugins.of(OF_PLUGINS):
        above, _, last = record.name.rpartition(" ")
        if above == group and not misplaced(record.name):
            found[last] = record
    return found


def load_command(record: PluginRecord) -> click.Command:
    """Import the command; `PluginError` if it cannot be had."""
    from agentm_kernel.plugins.table import load_plugin

    command = load_plugin(current_device(), OF_PLUGINS, record.name)
    if not isinstance(command, click.Command):
        raise PluginError(f"the {record} is not a click command")
    return _with_whole_lines(command)


def _with_whole_lines(command: click.Command) -> click.Command:
    """Let lists of commands show the whole first sentence of each, on more lines if need be: click would cut it."""
    for each in (command, *getattr(command, "commands", {}).values()):
        if each.help and not each.short_help:
            sentence, stop, _ = " ".join(each.help.partition("\n\n")[0].split()).partition(". ")
            each.short_help = sentence + stop.rstrip()
    return command


def write_section(formatter: click.HelpFormatter, commands: dict[str, PluginRecord]) -> None:
    """List them in a help text, one line for each distribution, under what it says of itself. Nothing is imported."""
    names: dict[PluginRecord, list[str]] = {}
    for name, record in sorted(commands.items()):
        first = next((known for known in names if known.distribution == record.distribution), record)
        names.setdefault(first, []).append(one_line(name))
    if names:
        with formatter.section("Commands of plugins"):
            formatter.write_dl([(", ".join(mine), _about(record)) for record, mine in names.items()], col_max=17)


def _about(record: PluginRecord) -> str:
    """What a distribution says it is, in its own line of metadata if there is one."""
    summary = ""
    try:
        with open(os.path.join(record.location, "METADATA"), encoding="utf-8", errors="replace") as metadata:
            for line in metadata:
                if line == "\n":
                    break
                if line.startswith("Summary: "):
                    summary = line.removeprefix("Summary: ").strip()
    except OSError:  # a zip archive, say: the name has to do
        pass
    return one_line(f"{summary} ({record.distribution} {record.version})".strip())


def own_command(name: str) -> click.Command | None:
    """The command or group `name` of the kernel; `None` if there is none."""
    declared = [command for command in COMMANDS if command.path[0] == name]
    if name in GROUPS:
        module = __import__(f"agentm_kernel.cli.{name}", fromlist=["command"])
        found: click.Command = module.command
    else:
        return _with_whole_lines(_to_click(declared[0])) if declared else None
    if isinstance(found, click.Group):
        for command in declared:
            found.add_command(_to_click(command))
    return _with_whole_lines(found)


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
