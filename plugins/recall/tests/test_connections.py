"""What connects notes on the page: one replaces another, names it, or speaks of the same file."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_recall.connections import connections


def connected(*rows: tuple[str, str, str] | tuple[str, str, str, str]) -> list[tuple[str, str, str, str]]:
    """Of notes, each a key, what it supersedes, its text and perhaps a status."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, key TEXT, supersedes TEXT, status TEXT)")
    database.execute("CREATE TABLE texts (body TEXT)")
    for number, (key, claims, body, *status) in enumerate(rows, 1):
        database.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", (number, key, claims, *(status or ["active"])))
        database.execute("INSERT INTO texts (rowid, body) VALUES (?, ?)", (number, body))
    opened: Any = SimpleNamespace(connection=database)
    return connections(opened)


A, B, C = "personal/decisions/a.md", "personal/decisions/b.md", "projects/x/decisions/b.md"


def test_a_note_that_replaces_another_is_connected_with_it() -> None:
    assert connected((A, "b", ""), (B, "", "")) == [(A, B, "supersedes", "")]
    assert connected((A, f"{B}\nnone", ""), (B, "", ""), (C, "", "")) == [(A, B, "supersedes", "")]


def test_a_note_that_names_another_in_brackets_is_connected_with_it() -> None:
    assert connected((A, "", "see [[b]], [[b|there]] and [[ b #part]]"), (B, "", "")) == [(A, B, "link", "")]


@pytest.mark.parametrize("text", ["[[a]]", "[[missing]]", "[b]", "[[b\n]]"])
def test_nothing_is_connected_with_itself_or_with_what_is_not_there(text: str) -> None:
    assert connected((A, "a", text), ("personal/decisions/z.md", "", "")) == []


def test_a_name_that_two_notes_have_means_neither() -> None:
    assert connected((A, "b", "[[b]]"), (B, "", ""), (C, "", "")) == []


def test_what_was_deleted_is_connected_with_nothing() -> None:
    assert connected((A, "", "[[b]]"), (B, "", "", "deleted")) == []


def test_notes_that_speak_of_one_file_are_connected_in_a_chain() -> None:
    notes = [(f"personal/facts/{number}.md", "", f"in src/app/main.py, line {number}") for number in range(3)]
    keys = [key for key, _, _ in notes]
    assert connected(*notes) == [
        (keys[0], keys[1], "file", "src/app/main.py"),
        (keys[1], keys[2], "file", "src/app/main.py"),
    ]
    assert connected(notes[0]) == []
    assert connected((A, "", "main.py"), (B, "", "main.py")) == [], "a name alone is no file"


@pytest.mark.parametrize(("count", "edges"), [(12, 11), (13, 0)])
def test_a_file_that_everybody_speaks_of_connects_nothing(count: int, edges: int) -> None:
    assert len(connected(*((f"personal/facts/{number}.md", "", "src/main.py") for number in range(count)))) == edges


@pytest.mark.parametrize(("before", "is_seen"), [(20_000 - 5, True), (20_000, False)])
def test_the_beginning_of_a_note_is_looked_through(before: int, is_seen: bool) -> None:
    assert bool(connected((A, "", "x" * before + "[[b]]"), (B, "", ""))) is is_seen
