"""What a benchmark found: a Markdown table for people, the same numbers as JSON for tools."""

from __future__ import annotations

from dataclasses import dataclass

Row = dict[str, str | float]
"""Figures by column. A column carries its unit in its name: `p99 (ms)`, `rate (1/s)`, `speed (×)`."""

_DECIMALS = {"(1/s)": 0, "(µs)": 1, "(ms)": 2, "(×)": 2}


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    note: str
    """How it was measured and what to keep in mind, in a sentence or two."""
    rows: list[Row]

    def markdown(self) -> str:
        columns = list(dict.fromkeys(column for row in self.rows for column in row))
        cells = [[_shown(column, row.get(column, "")) for column in columns] for row in self.rows]
        widths = [max(len(line[index]) for line in [columns, *cells]) for index in range(len(columns))]
        rule = ["-" * width if index == 0 else "-" * (width - 1) + ":" for index, width in enumerate(widths)]
        lines = [_line(columns, widths), _line(rule, widths), *(_line(line, widths) for line in cells)]
        return "\n".join([f"### {self.title}", "", *lines, "", self.note])


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = (
        cell.ljust(width) if index == 0 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join([first, *rest])} |"


def _shown(column: str, value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.{_DECIMALS.get(column.rpartition(' ')[2], 2)}f}"
