"""The click application: groups are imported when they are used, plugin commands when they are called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from agentm_kernel import __version__
from agentm_kernel.cli.command_table import COMMANDS, DeclaredCommand, Parameter
from agentm_kernel.cli.names import GROUPS, KERNEL_COMMANDS
from agentm_kernel.cli.output import current_device
from agentm_kernel.device.installed import COMMANDS as COMMAND_GROUP, PluginRecord
from agentm_kernel.errors import AgentmError, PluginError, one_line
from agentm_kernel.plugins.published import PUBLISHED, how_to_install

if TYPE_CHECKING:
    from agentm_kernel.state.device import Device


class LazyGroup(click.Group):
    """Lists commands from tables and metadata; imports one only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*KERNEL_COMMANDS, *_plugin_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in GROUPS:
            module = __import__(f"agentm_kernel.cli.{GROUPS[cmd_name][0]}", fromlist=["command"])
            found: click.Command = module.command
            return _with_declared(found, cmd_name)
        if any(command.path[0] == cmd_name for command in COMMANDS):
            return _declared(cmd_name)
        return _load_plugin_command(cmd_name) if cmd_name in _plugin_commands() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not (name.startswith("-") or ctx.resilient_parsing or name in self.list_commands(ctx)):
            raise _NoSuchCommand(name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, but without importing a single command: of plugins, their own summary is shown."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _help_line(name)) for name in sorted(KERNEL_COMMANDS)])
        names: dict[PluginRecord, list[str]] = {}
        for name, record in sorted(_plugin_commands().items()):
            first = next((known for known in names if known.distribution == record.distribution), record)
            names.setdefault(first, []).append(one_line(name))
        if names:
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(", ".join(mine), _about(record)) for record, mine in names.items()], col_max=17)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Errors are one line and a hint on standard error. Exit codes: 0 done, 1 refused or failed, "
    "2 wrong usage, 3 changed meanwhile, 4 locked by another process.",
)
@click.version_option(__version__, "-V", "--version", prog_name="agentm")
def app() -> None:
    """The memory of coding agents that does not lose or misplace a note."""


def run(device: Device, arguments: list[str]) -> int:
    """Run the application and return the exit code; expected failures leave as `AgentmError`."""
    try:
        result = app.main(args=arguments, prog_name="agentm", standalone_mode=False, obj=device)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()  # whoever names no command wants to see which there are
        return _UsageError.exit_code
    except click.UsageError as error:
        raise _UsageError(error) from None
    except click.ClickException as error:
        raise AgentmError(error.format_message()) from None
    except click.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None  # click has made an `Abort` of it, wherever it came
        click.echo(err=True)  # the question still stands on the line
        raise AgentmError("aborted") from None
    return result if isinstance(result, int) else 0


class _UsageError(AgentmError):
    """The command line cannot be understood."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        command = error.ctx.command_path if error.ctx else "agentm"
        super().__init__(error.format_message(), hint=f"run `{command} --help`")


class _NoSuchCommand(AgentmError):
    """The first word is no command: of a plugin that is not installed, misspelt, or neither."""

    exit_code = 2

    def __init__(self, name: str, known: list[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, {*known, *PUBLISHED[COMMAND_GROUP]}, n=1)
        install = how_to_install(COMMAND_GROUP, name)
        guess = (
            f"did you mean `agentm {near[0]}`? `agentm --help` lists the commands" if near else "run `agentm --help`"
        )
        super().__init__(
            f"the command '{name}' is of a plugin that is not installed"
            if install
            else f"there is no command '{name}'",
            hint=install or guess,
        )


# ------------------------------------------------------------------------------------------------ declared commands


def _help_line(name: str) -> str:
    """The line for one of the kernel's own commands in the list of them."""
    return GROUPS[name][1] if name in GROUPS else _declared(name).get_short_help_str(limit=100)


def _declared(name: str) -> click.Command:
    """The click form of the declared command or commands whose path begins with `name`."""
    mine = [command for command in COMMANDS if command.path[0] == name]
    if len(mine[0].path) == 1:
        return _to_click(mine[0])
    group = click.Group(name, help="Answer the hooks of agent hosts.")
    for command in mine:
        group.add_command(_to_click(command))
    return group


def _with_declared(found: click.Command, name: str) -> click.Command:
    """A group of `GROUPS`, with the declared commands that live under its name."""
    if isinstance(found, click.Group):
        for command in COMMANDS:
            if command.path[0] == name:
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


# ------------------------------------------------------------------------------------------------ plugin commands


def _plugin_commands() -> dict[str, PluginRecord]:
    """Commands of installed plugins; the kernel's own names cannot be taken."""
    records = current_device().plugins.of(COMMAND_GROUP)
    return {record.name: record for record in records if record.name not in KERNEL_COMMANDS}


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


def _load_plugin_command(name: str) -> click.Command:
    from agentm_kernel.plugins.table import load_plugin

    command = load_plugin(current_device(), COMMAND_GROUP, name)
    if not isinstance(command, click.Command):
        raise PluginError(f"the {_plugin_commands()[name]} is not a click command")
    return command
