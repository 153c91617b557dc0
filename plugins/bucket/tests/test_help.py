"""What the options of this plugin's commands take."""

from __future__ import annotations

import click

from agentm_bucket.commands import command

COMMANDS = sorted(command.commands.items())


def options_of(found: click.Command) -> list[click.Option]:
    return [option for option in found.params if isinstance(option, click.Option)]


def test_what_an_option_takes_and_what_it_is_without_being_given() -> None:
    init = {option.opts[0]: option for option in options_of(command.commands["init"])}
    kind = init["--kind"]
    assert isinstance(kind.type, click.Choice)
    assert (kind.type.choices, kind.default) == (("s3", "azure", "gcs"), "s3")
    assert {init[name].default for name in ("--prefix", "--endpoint", "--region", "--account")} == {""}
    assert [name for name, option in init.items() if option.is_flag] == ["--adopt", "--use", "--take-along", "--json"]
