"""Every command and option of this plugin says what it is for."""

from __future__ import annotations

import click
import pytest

from agentm_bucket.commands import command

COMMANDS = sorted(command.commands.items())


def options_of(found: click.Command) -> list[click.Option]:
    return [option for option in found.params if isinstance(option, click.Option)]


@pytest.mark.parametrize(("name", "found"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_and_each_of_its_options_have_a_text_for_people(name: str, found: click.Command) -> None:
    assert found.help
    assert [option.name for option in options_of(found) if not option.help] == []


def test_what_an_option_takes_and_what_it_is_without_being_given() -> None:
    init = {option.opts[0]: option for option in options_of(command.commands["init"])}
    kind = init["--kind"]
    assert isinstance(kind.type, click.Choice)
    assert (kind.type.choices, kind.default) == (("s3", "azure", "gcs"), "s3")
    assert {init[name].default for name in ("--prefix", "--endpoint", "--region", "--account")} == {""}
    assert [name for name, option in init.items() if option.is_flag] == ["--adopt", "--use", "--take-along", "--json"]
