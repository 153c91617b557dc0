"""The click application: groups are imported when they are used, plugin commands when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel import __version__
from agentm_kernel.cli.command_table import KERNEL_COMMANDS
from agentm_kernel.cli.guide import GROUPS as GUIDE, GUESSES, GUESSES_WITH, group_of
from agentm_kernel.cli.output import NAMED_STORE, current_device, terminal_width
from agentm_kernel.cli.plugin_commands import load_command, own_command, plugin_commands, write_section
from agentm_kernel.device.installed import COMMANDS as COMMAND_GROUP
from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins.published import PUBLISHED, how_to_install

if TYPE_CHECKING:
    from agentm_kernel.state import Device


class LazyGroup(click.Group):
    """All commands, listed from tables and metadata; one is imported only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*KERNEL_COMMANDS, *plugin_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = own_command(cmd_name)
        if own is not None:
            return _ExtendedGroup(own, cmd_name) if isinstance(own, click.Group) else own
        record = plugin_commands().get(cmd_name)
        return load_command(record) if record else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not (name.startswith("-") or ctx.resilient_parsing or name in self.list_commands(ctx)):
            raise _NoSuchCommand(name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By what a person wants to do, without importing a single command."""
        installed = plugin_commands()
        for group, lines in GUIDE.items():
            rows = [(name, line) for name, line in lines.items() if name in KERNEL_COMMANDS or name in installed]
            with formatter.section(group):
                formatter.write_dl(rows)
        others = {name: record for name, record in installed.items() if group_of(name) is None}
        write_section(formatter, others)


class _ExtendedGroup(click.Group):
    """A group of the kernel with the subcommands that plugins add to it."""

    def __init__(self, own: click.Group, path: str) -> None:
        super().__init__()
        vars(self).update(vars(own))  # whatever the group declares: it is the same group, with more below it
        self._path = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *plugin_commands(self._path)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        record = plugin_commands(self._path).get(cmd_name)
        return load_command(record) if record else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = f"{self._path} {args[0]}"
        if how_to_install(COMMAND_GROUP, name) and args[0] not in self.list_commands(ctx):
            raise _NoSuchCommand(name, [])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, but without importing what plugins bring."""
        limit = formatter.width - 6 - max(map(len, self.commands), default=0)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(limit)) for name, command in sorted(self.commands.items())]
            )
        write_section(formatter, plugin_commands(self._path))


@click.command(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Errors are one line and a hint on standard error. Exit codes: 0 done, 1 refused, declined or failed, "
    "2 wrong usage, 3 changed meanwhile, 4 locked by another process.",
)
@click.version_option(__version__, "-V", "--version", prog_name="agentm")
@click.option("--store", metavar="NAME", help="Work with this further store, as if the device had no other.")
@click.pass_context
def app(ctx: click.Context, store: str | None) -> int | None:
    """The memory of coding agents that does not lose or misplace a note."""
    if store is not None:
        ctx.obj, ctx.meta[NAMED_STORE] = current_device().of_store(store), store
    if ctx.invoked_subcommand is not None:
        return None
    from agentm_kernel.cli.overview import show_overview

    return show_overview(current_device())


def run(device: Device, arguments: list[str]) -> int:
    """Run the application and return the exit code; expected failures leave as `AgentmError`."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        width = max(min(terminal_width(), 100) - 2, 30)  # click alone would take at least 50 columns
        result = app.main(args=arguments, prog_name="agentm", standalone_mode=False, obj=device, terminal_width=width)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()  # whoever names a group alone wants to see what there is in it
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
        hint = f"run `{command} --help`"
        if isinstance(error, click.NoSuchOption) and error.option_name == "--store":
            hint = f"it stands before the command: `{command.replace('agentm', 'agentm --store NAME', 1)}`"
        super().__init__(error.format_message(), hint=hint)


class _NoSuchCommand(AgentmError):
    """The first word is no command: of a plugin that is not installed, misspelt, or neither."""

    exit_code = 2

    def __init__(self, name: str, known: list[str]) -> None:
        from difflib import get_close_matches

        if name in GUESSES:
            near = [GUESSES_WITH.get((current_device().config.storage_backend or "", name), GUESSES[name])]
        else:
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
