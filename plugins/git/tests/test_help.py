"""What the options of this plugin's commands take."""

from __future__ import annotations

import click

from agentm_git.commands import command

COMMANDS = sorted(command.commands.items())


def options_of(found: click.Command) -> list[click.Option]:
    return [option for option in found.params if isinstance(option, click.Option)]


def test_what_an_option_takes_is_named() -> None:
    taken = {
        (name, option.opts[0]): option.type.choices
        for name, found in COMMANDS
        for option in options_of(found)
        if isinstance(option.type, click.Choice)
    }
    settling = ("rebase", "merge", "last-writer-wins", "split-conflicts")
    assert taken == {
        ("init", "--conflict"): ("rebase", "merge", "abort", "manual", "last-writer-wins", "split-conflicts"),
        ("sync", "--conflict"): settling,
        ("sync", "--rewritten"): ("keep", "follow"),
    }
    metavars = {
        option.opts[0]: option.metavar for _, found in COMMANDS for option in options_of(found) if option.metavar
    }
    assert metavars == {"--conflict": "POLICY"}
