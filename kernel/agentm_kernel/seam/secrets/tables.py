"""The tables beside this file, which are read when the first text is scanned, and the patterns in them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

_parts: dict[str, str] = {}
_patterns: dict[tuple[bytes, str], re.Pattern[bytes]] = {}


def table(name: str) -> list[list[str]]:
    """The rows of a table, in their columns. A row goes on where it is indented; a line with `#` is a remark."""
    loader: Any = __spec__.loader  # it reads zip files too; importing `importlib.resources` takes longer than a scan
    data: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), name))
    rows = data.decode().replace("\r\n", "\n").replace("\n    ", " ").split("\n")
    return [row.split(" | ", 2) for row in rows if row and row[0] != "#"]


def rules_of(name: str) -> list[list[str]]:
    """The rules of a table, of three columns; rows of two are parts that patterns are made of."""
    rows = table(name)
    _parts.update((f"<{row[0]}>", row[1]) for row in rows if len(row) == 2)
    return [row for row in rows if len(row) == 3]


def pattern_of(rest: str, beginning: bytes = b"") -> re.Pattern[bytes]:
    """What `rest` describes after `beginning`, as it is written there; without one, in capitals or small letters."""
    pattern = _patterns.get((beginning, rest))
    if pattern is None:
        import re

        whole = rest
        for part, meaning in reversed(_parts.items()):  # each holds only parts that come before it
            whole = whole.replace(part, meaning)
        pattern = re.compile(re.escape(beginning) + whole.encode(), 0 if beginning else re.IGNORECASE)
        _patterns[beginning, rest] = pattern
    return pattern
