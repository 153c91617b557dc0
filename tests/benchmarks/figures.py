"""`python -m tests.benchmarks.figures`: what `make bench` measured, written into the pages that show it.

A page says in a comment where a table belongs, `<!-- bench startup -->` until `<!-- end -->`; everything around is
written by hand, and true whatever the numbers are. Only tables that were measured in full are taken over; the others
stay as they are, with the day on which they were measured, or the line that they never were.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.benchmarks.__main__ import CACHE, SCHEMA
from tests.benchmarks.tables import Table

_DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (_DOCS / "reference" / "figures.md", _DOCS / "explanation" / "rivals.md")
UNMEASURED = "Not measured yet on this version: `make bench ARGS={}`.\n"
BLOCK = re.compile(r"(?P<begin><!-- bench (?P<name>\w+) -->\n)(?P<table>.*?)(?P<end><!-- end -->)", re.DOTALL)


def block(name: str, measured: dict[str, Any]) -> str:
    """The table, below the command that makes it, and when and where it was made."""
    table = Table(name, measured["title"], measured["note"], measured["rows"])
    _, _, rows = table.markdown().partition("\n\n")
    machine = f"{measured['system']}, {measured['processors']} processors, Python {measured['python']}"
    return f"`make bench ARGS={name}`, {measured['date']}, {machine}:\n\n{rows}\n"


def fill(page: str, tables: dict[str, Any]) -> str:
    def renew(found: re.Match[str]) -> str:
        measured = tables.get(found["name"])
        if measured is None or measured["quick"]:
            return found[0]
        return found["begin"] + block(found["name"], measured) + found["end"]

    return BLOCK.sub(renew, page)


def main() -> None:
    document = json.loads((CACHE / "bench.json").read_text())
    if document["schema"] != SCHEMA:
        raise SystemExit("these figures were written by another version: run `make bench` again")
    for page in PAGES:
        page.write_text(fill(page.read_text(), document["tables"]))


if __name__ == "__main__":
    main()
