"""Numbers in sentences: "1 files" is what a program says, not a person."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOUNS = "files|notes|projects|entries|memories|checkpoints|stores|members|plugins|proposals|lines|connections"
MANY = ("too many", "the limit is", "checkpoint claims", "{problem}")
"""Sentences that are only said of large numbers, or in which no number stands."""
COUNTED = re.compile(rf"(.{{4}})\{{(len\([^{{}}]*\)|[a-z_.]+)(:,)?\}} ({NOUNS})\b(.*)")


def lines_that_count(source: str) -> list[str]:
    """Lines in which a number that may be one stands before a plural; "3 of 7 files" is right for any number."""
    found = []
    for line in source.splitlines():
        match = COUNTED.search(line)
        is_right = any(words in line for words in (*MANY, "== 1", "> 1"))
        if match and not match[1].endswith(("of ", "and ")) and not is_right:
            found.append(line.strip())
    return found


def test_the_rule_finds_what_it_is_for() -> None:
    assert lines_that_count('click.echo(f"{len(rows)} notes, and more")')
    assert lines_that_count('click.echo(f"wrote {moved:,} files")')
    assert not lines_that_count('click.echo(f"copied {done} of {total} files")')
    assert not lines_that_count("click.echo(f\"wrote {counted(moved, 'file')}\")")


def test_no_sentence_counts_one_as_many() -> None:
    sources = [*ROOT.glob("kernel/agentm_kernel/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    found = {f"{path.relative_to(ROOT)}: {line}" for path in sources for line in lines_that_count(path.read_text())}
    assert not found, "use `counted` of agentm_kernel.command, or say it in other words"
