"""What the options of this plugin's commands take."""

from __future__ import annotations

import click

from agentm_encryption.commands import command

COMMANDS = sorted(command.commands.items())


def options_of(found: click.Command) -> list[click.Option]:
    return [option for option in found.params if isinstance(option, click.Option)]


def test_what_an_option_takes_is_named() -> None:
    choices = {
        (name, option.opts[0]): (option.type.choices, option.default)
        for name, found in COMMANDS
        for option in options_of(found)
        if isinstance(option.type, click.Choice)
    }
    ways = (("file", "passphrase", "keyring"), "file")
    assert choices == {
        ("init", "--identity"): ways,
        ("init", "--names"): (("clear", "sealed"), "clear"),
        ("join", "--identity"): ways,
        ("recover", "--identity"): ways,
    }
    metavars = {
        option.opts[0]: option.metavar for _, found in COMMANDS for option in options_of(found) if option.metavar
    }
    assert metavars == {"--fingerprint": "DIGITS", "--recovery": "RECIPIENT", "--remove": "NAME"}


def test_a_file_that_is_asked_for_is_no_folder() -> None:
    files = [
        (name, parameter.name, parameter.type.exists)
        for name, found in COMMANDS
        for parameter in found.params
        if isinstance(parameter.type, click.Path) and not parameter.type.dir_okay
    ]
    assert files == [
        ("init", "recovery_file", False),
        ("recover", "file", True),
        ("rotate", "recovery_file", False),
        ("status", "recovery_file", True),
    ]
