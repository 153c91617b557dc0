"""The click application: commands are listed from tables and metadata, and imported when they are called.

Plugins bring commands at the top (`vault`), or below a group of the kernel (`plugins check`). They are known by their
entry points in the group `agentm.commands`.
"""

from __future__ import annotations

import click

from agentm_kernel import __version__
from agentm_kernel.cli.command_table import (
    ABOUT_ALL_STORES,
    COMMANDS,
    GROUPS,
    DeclaredCommand,
    kernel_subcommands,
    misplaced,
)
from agentm_kernel.cli.output import NAMED_STORE, current_device, nearest, terminal_width
from agentm_kernel.device.installed import COMMANDS as OF_PLUGINS, PluginRecord, header
from agentm_kernel.errors import AgentmError, PluginError, UsageError, one_line
from agentm_kernel.plugins.published import PUBLISHED, how_to_install
from agentm_kernel.plugins.table import load_plugin
from agentm_kernel.state import Device


class OpenGroup(click.Group):
    """A group of the kernel, or with an empty `path` the whole application, with the commands that plugins add."""

    path = ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*kernel_subcommands(self.path), *plugin_commands(self.path)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: object = self.commands.get(cmd_name) if self.path else own_command(cmd_name)
        if command is None and (record := plugin_commands(self.path).get(cmd_name)):
            command = load_plugin(current_device(), OF_PLUGINS, record.name)
            if not isinstance(command, click.Command):
                raise PluginError(f"the {record} is not a click command")
        if not isinstance(command, click.Command):
            return None
        for each in (command, *getattr(command, "commands", {}).values()):
            if each.help and not each.short_help:  # of which lists show the whole first sentence: click would cut it
                sentence, stop, _ = " ".join(each.help.partition("\n\n")[0].split()).partition(". ")
                each.short_help = sentence + stop.rstrip()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = f"{self.path} {args[0]}".strip(), self.list_commands(ctx)
        if name in ABOUT_ALL_STORES and NAMED_STORE in ctx.meta:
            hint = "leave --store out; what is said of a further store is called stores.NAME"
            raise UsageError(f"`agentm {name}` is about all stores of this device, and not about one", hint=hint)
        is_known = args[0] in known or args[0].startswith("-") or ctx.resilient_parsing
        if not is_known and (not self.path or how_to_install(OF_PLUGINS, name)):
            raise _no_such_command(name, known)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Without importing one of a plugin; at the top none at all, and by what a person wants to do."""
        from agentm_kernel.cli.guide import BELOW, DESCRIBED, GROUPS as GUIDE

        theirs = plugin_commands(self.path)
        if self.path:
            lines = {name: command.get_short_help_str() for name, command in self.commands.items()}
            lines |= {name: BELOW[each] for name in theirs if (each := f"{self.path} {name}") in BELOW}
            sections = {"Commands": sorted(lines.items())}
        else:
            there = self.list_commands(ctx)
            sections = {title: [row for row in each.items() if row[0] in there] for title, each in GUIDE.items()}
        theirs = {name: each for name, each in theirs.items() if f"{self.path} {name}".strip() not in DESCRIBED}
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
        if theirs:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(_by_distribution(theirs), col_max=17)


@click.command(
    cls=OpenGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Errors are one line and a hint on standard error. Exit codes: 0 done, 1 refused, declined or failed, "
    "2 wrong usage, 3 changed meanwhile, 4 locked by another process.",
)
@click.version_option(__version__, "-V", "--version", prog_name="agentm")
@click.option("--store", metavar="NAME", help="Work with this store, as if the device had no other.")
@click.pass_context
def app(ctx: click.Context, store: str | None) -> int | None:
    """The memory of coding agents that does not lose or misplace a note."""
    if store is not None:
        device = current_device()
        ctx.obj = device.alone() if store == "default" else device.of_store(store)
        ctx.meta[NAMED_STORE] = store
    if ctx.invoked_subcommand is not None:
        return None
    from agentm_kernel.cli.guide import show_overview

    return show_overview(current_device(), plugin_commands())


def run(device: Device, arguments: list[str]) -> int:
    """Run the application and return the exit code; expected failures leave as `AgentmError`."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        width = max(min(terminal_width(), 100) - 2, 30)  # click alone would take at least 50 columns
        result = app.main(args=arguments, prog_name="agentm", standalone_mode=False, obj=device, terminal_width=width)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()  # whoever names a group alone wants to see what there is in it
        return UsageError.exit_code
    except click.UsageError as error:
        # Click does not say which command it is of which an option lacks its value: then the first words tell.
        words = [word for word in arguments[: 2 if arguments[0] in GROUPS else 1] if not word.startswith("-")]
        command = error.ctx.command_path if error.ctx else " ".join(["agentm", *words])
        hint = f"run `{command} --help`"
        if error.ctx and error.ctx.parent and isinstance(error.ctx.command, click.Group):
            from agentm_kernel.cli.guide import GUESSES

            meant = GUESSES.get(" ".join([*command.split()[1:], *arguments[1:2]]))
            hint = f"did you mean `agentm {meant}`? `{command} --help` lists the commands" if meant else hint
        if isinstance(error, click.NoSuchOption) and error.option_name == "--store":
            hint = f"it stands before the command: `{command.replace('agentm', 'agentm --store NAME', 1)}`"
        raise UsageError(error.format_message(), hint=hint) from None
    except click.ClickException as error:
        raise AgentmError(error.format_message()) from None
    except click.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None  # click has made an `Abort` of it, wherever it came
        click.echo(err=True)  # the question still stands on the line
        raise AgentmError("aborted") from None
    return result if isinstance(result, int) else 0


def _no_such_command(name: str, known: list[str]) -> UsageError:
    """The refusal of a command of a plugin that is not installed, of a misspelt one, or of a word that is neither."""
    if install := how_to_install(OF_PLUGINS, name):
        return UsageError(f"the command '{name}' is of a plugin that is not installed", hint=install)
    from agentm_kernel.cli.guide import GUESSES, GUESSES_WITH

    if name in GUESSES:
        near = GUESSES_WITH.get((current_device().config.storage_backend or "", name), GUESSES[name])
    else:
        near = nearest(name, {*known, *PUBLISHED[OF_PLUGINS]})
    guess = f"did you mean `agentm {near}`? `agentm --help` lists the commands"
    return UsageError(f"there is no command '{name}'", hint=guess if near else "run `agentm --help`")


def completion(_device: Device, shell: str) -> None:
    """`agentm completion SHELL`: the script that makes a shell complete agentm's commands."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the declared command names those that click has
    click.echo(kind(app, {}, "agentm", "_AGENTM_COMPLETE").source())


def own_command(name: str) -> click.Command | None:
    """The command or group `name` of the kernel, imported now; `None` if there is none."""
    declared = {command.path[-1]: _to_click(command) for command in COMMANDS if command.path[0] == name}
    if name not in GROUPS:
        return declared.get(name)
    found = __import__(f"agentm_kernel.cli.{name}", fromlist=["command"]).command
    group = OpenGroup(name, {**found.commands, **declared}, help=found.help)
    group.path = name
    return group


def _to_click(declared: DeclaredCommand) -> click.Command:
    parameters: list[click.Parameter] = []
    for one in declared.parameters:
        if one.is_option:
            shape = {"is_flag": True} if one.flag else {"metavar": one.metavar}
            parameters.append(click.Option([one.name], help=one.help, required=one.required, **shape))
        else:
            parameters.append(click.Argument([one.key], type=click.Choice(one.choices) if one.choices else None))
    work = lambda **values: declared.run(current_device(), values)  # noqa: E731
    return click.Command(declared.path[-1], params=parameters, callback=work, help=declared.help)


def plugin_commands(group: str = "") -> dict[str, PluginRecord]:
    """Commands of installed plugins below `group`, or at the top; the kernel's own names cannot be taken."""
    found = {}
    for record in current_device().plugins.of(OF_PLUGINS):
        above, _, last = record.name.rpartition(" ")
        if above == group and not misplaced(record.name):
            found[last] = record
    return found


def _by_distribution(commands: dict[str, PluginRecord]) -> list[tuple[str, str]]:
    """A row for each distribution: its commands, and what it says of itself. Nothing is imported."""
    names: dict[str, list[str]] = {}
    for name, record in sorted(commands.items()):
        summary = header(record.location, "Summary")  # none of a zip archive: the name has to do
        about = one_line(f"{summary} ({record.distribution} {record.version})".strip())
        names.setdefault(about, []).append(one_line(name))
    return [(", ".join(mine), about) for about, mine in names.items()]
