"""What readers print: JSON with a schema number, or a plain table that a person can read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.cli.hook_verbs import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


def echo_json(**fields: Any) -> None:
    """One JSON object, with the number of its shape first."""
    click.echo(json_text(**fields), nl=False)


def echo_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as they need to be; headings only where a person looks."""
    cells = [tuple(str(cell) for cell in row) for row in rows]
    on_terminal = sys.stdout.isatty()
    if on_terminal:
        cells.insert(0, tuple(heading.upper() for heading in headings))
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(len(headings))]
    for number, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, bold=True) if on_terminal and number == 0 else line)


def status_style(status: str) -> str:
    """`OK`, `WARN` or `FAIL`, coloured on a terminal that wants colour (click obeys NO_COLOR's absence of a tty)."""
    import os

    if os.environ.get("NO_COLOR"):
        return status
    return click.style(status, fg={"OK": "green", "WARN": "yellow"}.get(status, "red"))
