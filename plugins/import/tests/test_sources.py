"""Every source: all of it becomes notes or is listed, twice is once, only a change is a change, the source stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from import_home import Home, snapshot
from samples import SOURCES

from agentm_import.importing import Import
from agentm_import.planning import CREATE, SKIP, UNCHANGED

ASKS_FOR_A_PATH = frozenset(("markdown", "obsidian", "okf", "server-memory"))


def make(source: str, home: Home) -> tuple[str, Path]:
    place = SOURCES[source][0](home.path)
    return (str(place) if source in ASKS_FOR_A_PATH else ""), place


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_everything_comes_over_once_and_the_source_stays_as_it_is(source: str, home: Home) -> None:
    path, place = make(source, home)
    before = snapshot(place)
    first = Import(home.device(), source, path, keep_names=True).carry_out()
    assert not first.problems
    assert first.counts()[CREATE] == SOURCES[source][1]
    assert first.counts()[SKIP] == SOURCES[source][2]
    notes = home.notes()
    assert sum(key.endswith(".md") for key in notes) == SOURCES[source][1]
    for step in first.of(CREATE):
        text = notes[step.key].replace("\r\n", "\n")
        assert f"\nsource: {source}\n" in text
        assert "\norigin: " in text
    again = Import(home.device(), source, path, keep_names=True).carry_out()
    assert again.counts()[UNCHANGED] == SOURCES[source][1]
    assert again.counts()[CREATE] == 0
    assert home.notes() == notes
    assert snapshot(place) == before


@pytest.mark.parametrize("source", ["markdown", "obsidian"])
def test_a_store_is_not_imported_into_itself(source: str, home: Home) -> None:
    """The agent's folder lies inside the operator's vault, mostly."""
    vault = home.root.parent
    assert home.run("save", "--kind", "fact", "--slug", "port", input="The port is 80.").returncode == 0
    (vault / ".obsidian").mkdir()
    (vault / "mine.md").write_text("Mine.\n")
    done = home.json("import", source, str(vault), "--yes")
    assert done["counts"] == {"create": 1, "skip": 1}
    assert sorted(home.notes()) == [
        "personal/references/mine.md",
        "projects/widgets/_project.json",
        "projects/widgets/facts/port.md",
    ]
    before = home.notes()
    refused = home.run("import", "markdown", str(home.root), "--yes")
    assert "a store of agentm" in refused.stderr
    assert home.notes() == before


def test_what_a_checkout_tells_claude_code_is_the_project_s_and_not_the_user_s(home: Home) -> None:
    (home.project / "CLAUDE.md").write_text("# Rules\n\nUse tabs.\n")
    home.run("import", "claude-code", ".", "--yes")
    assert [key for key in home.notes() if key.endswith("claude-md.md")] == [
        "projects/widgets/conventions/claude-md.md"
    ]


def test_a_file_in_the_place_of_a_folder_is_not_said_to_be_missing(home: Home) -> None:
    (home.project / "CLAUDE.md").write_text("# Rules\n")
    done = home.run("import", "claude-code", "CLAUDE.md")
    assert "this is not a folder" in done.stderr
