"""A command of a plugin (group `agentm.commands`): help, wrong usage, and no import for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.expect import Violation, shown
from agentm_devkit.kinds.checking import plugin_check

if TYPE_CHECKING:
    import click

    from agentm_devkit.kinds.checking import Specimen


def _command(specimen: Specimen) -> click.Command:
    import click

    if not isinstance(specimen.plugin, click.Command):
        raise Violation(f"{specimen.record.value} is {shown(specimen.plugin)}, no click command")
    return specimen.plugin


@plugin_check("commands")
def check_command_explains_itself(specimen: Specimen) -> None:
    """A command says in its help what it does, in words for somebody who sees it for the first time."""
    help_text = _command(specimen).help or ""
    if len(help_text.strip()) < 20:
        raise Violation(f"its help is {shown(help_text)}")


@plugin_check("commands")
def check_command_explains_its_options(specimen: Specimen) -> None:
    """Every option has a help text."""
    import click

    silent = [
        parameter.opts[0]
        for parameter in _command(specimen).params
        if isinstance(parameter, click.Option) and not parameter.help and not parameter.hidden
    ]
    if silent:
        raise Violation(f"{', '.join(silent)} has none")


@plugin_check("commands")
def check_command_changes_nothing_for_help(specimen: Specimen) -> None:
    """`--help` answers, exits 0, and makes nothing."""
    from click.testing import CliRunner

    before = specimen.files()
    result = CliRunner(env={"HOME": specimen.home}).invoke(_command(specimen), ["--help"])
    if result.exit_code != 0 or not result.output.strip():
        raise Violation(f"it exited {result.exit_code} and said {shown(result.output)}")
    if specimen.files() != before:
        raise Violation("it made something")
