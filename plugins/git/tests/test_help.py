"""Every command and option of this plugin says what it is for."""

from __future__ import annotations

import click
import pytest

from agentm_git.commands import command

COMMANDS = sorted(command.commands.items())


def options_of(found: click.Command) -> list[click.Option]:
    return [option for option in found.params if isinstance(option, click.Option)]


@pytest.mark.parametrize(("name", "found"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_and_each_of_its_options_have_a_text_for_people(name: str, found: click.Command) -> None:
    assert found.help
    assert [option.name for option in options_of(found) if not option.help] == []


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
