"""Commands that plugins bring: at the top (`vault`), or below a group of the kernel (`plugins check`).

They are known from metadata, by their entry points in the group `agentm.commands`, and imported when they are called.
"""

from __future__ import annotations

import os

import click

from agentm_kernel.cli.names import misplaced
from agentm_kernel.cli.output import current_device
from agentm_kernel.device.installed import COMMANDS, PluginRecord
from agentm_kernel.errors import PluginError, one_line


def plugin_commands(group: str = "") -> dict[str, PluginRecord]:
    """Commands of installed plugins below `group`, or at the top; the kernel's own names cannot be taken."""
    found = {}
    for record in current_device().plugins.of(COMMANDS):
        above, _, last = record.name.rpartition(" ")
        if above == group and not misplaced(record.name):
            found[last] = record
    return found


def load_command(record: PluginRecord) -> click.Command:
    """Import the command; `PluginError` if it cannot be had."""
    from agentm_kernel.plugins.table import load_plugin

    command = load_plugin(current_device(), COMMANDS, record.name)
    if not isinstance(command, click.Command):
        raise PluginError(f"the {record} is not a click command")
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
