"""Two versions in two columns, as wide as the terminal, with what both have left out."""

from __future__ import annotations

import unicodedata
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT = 2


def side_by_side(mine: str, theirs: str, *, width: int) -> Iterator[str]:
    """Lines to print: mine on the left, theirs on the right, `|` between lines that differ."""
    column = max(20, (width - 3) // 2)
    left, right = mine.splitlines(), theirs.splitlines()
    yield _row("mine", "theirs", " ", column)
    yield _row("-" * column, "-" * column, " ", column)
    for group in SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(_CONTEXT):
        if group[0][1] > 0:
            yield _row("…", "…", " ", column)
        for kind, start, end, other_start, other_end in group:
            mark = " " if kind == "equal" else "|"
            for pair in zip_longest(left[start:end], right[other_start:other_end], fillvalue=""):
                yield _row(*pair, mark, column)


def _row(left: str, right: str, mark: str, column: int) -> str:
    return f"{_cell(left, column)} {mark} {_cell(right, column)}".rstrip()


def _cell(text: str, column: int) -> str:
    """`text` in exactly `column` columns. What a note holds must not reach the terminal as a command."""
    cell: list[str] = []
    used = 0
    for character in text.expandtabs(4):
        shown = character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        wide = 0 if unicodedata.combining(shown) else 1 + (unicodedata.east_asian_width(shown) in "WF")
        if used + wide > column:
            cell[-1:] = ["…"]
            break
        cell.append(shown)
        used += wide
    return "".join(cell) + " " * (column - min(used, column))
