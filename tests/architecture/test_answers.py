"""Every command of this repository answers in JSON, or is named here with the reason why it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

WITHOUT_JSON = {
    "completion": "prints a script for a shell",
    "encryption show": "prints a text, byte for byte",
    "event": "what it prints is agreed with the agent host",
    "hook": "what it prints is agreed with the agent host",
    "mcp": "a server: JSON in both directions",
    "offer-save-here": "prints JSON, and nothing else",
    "policy schema": "prints JSON, and nothing else",
    "recall-here": "prints a text for a hook, byte for byte",
    "state-path": "prints a path for a hook",
    "view": "a server for a browser",
}


def commands(group: click.Group, context: click.Context, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        below = click.Context(found, info_name=name, parent=context)
        if isinstance(found, click.Group):
            yield from commands(found, below, f"{path}{name} ")
        else:
            yield f"{path}{name}", found


def has_json(command: click.Command) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


def test_every_command_answers_in_json_or_says_why_not() -> None:
    found = dict(commands(app, click.Context(app, info_name="agentm")))
    assert len(found) > 100
    assert sorted(name for name, command in found.items() if not has_json(command)) == sorted(WITHOUT_JSON)


def test_a_command_without_it_is_noticed() -> None:
    @click.group()
    def group() -> None: ...

    @group.command("silent")
    def silent() -> None: ...

    assert [has_json(command) for _, command in commands(group, click.Context(group))] == [False]
