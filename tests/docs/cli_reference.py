"""`docs/reference/cli.md`, generated from the commands themselves: `python -m tests.docs.cli_reference`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentm_kernel.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"

WIDTH = 96

_HEAD = """# Commands

Generated from `--help` by `python -m tests.docs.cli_reference`; a test keeps it current. Commands of plugins are
there when the plugin is installed. Every command has `--json`, apart from servers and from those that print a text
or a path for hooks. Content comes from standard input or `--body-file` and goes to standard output byte for byte. A
command that destroys something asks on a terminal and needs `--yes` without one. Tables have headings on a
terminal, and fit its width; a pipe or a file gets the rows alone, and a program should ask for `--json`.
"""


def page() -> str:
    return _HEAD + "".join(_sections(app, "agentm", None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield f"\n## `{context.command_path}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            child = command.get_command(context, child_name)
            if child is not None and not child.hidden:
                yield from _sections(child, child_name, context)


if __name__ == "__main__":
    PAGE.write_text(page())
