"""A project whose notes are in a further store: they come from there, the operator's own from the default one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import Device, FileStore, Locator, ToolCall, stamp_store
from agentm_recall.provider import for_prompt, own, recall
from agentm_recall.tool_reading import search

if TYPE_CHECKING:
    from conftest import Home

    from agentm_kernel.plugin import Resolution

RECORD = '{"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}\n'


@pytest.fixture
def project(home: Home) -> Resolution:
    """The project's notes are the team's; each store also has a personal note about herons."""
    team = FileStore(home.path / "team", create_root=True)
    stamp_store(team)
    team.write(Locator("projects/widgets/_project.json"), RECORD)
    for number in range(4):
        place = Locator(f"projects/widgets/facts/heron-{number}.md")
        team.write(place, f"# Heron {number}\n\nHerons of the team go to port 844{number}.\n")
    team.write(Locator("personal/facts/theirs.md"), "# Theirs\n\nHerons of a colleague are grey.\n")
    home.stamp()
    home.note("personal/facts/mine.md", "# Mine\n\nHerons of my own are blue.\n")
    settings = {
        "stores": {"team": {"backend": "device-local", "root": str(home.path / "team")}},
        "bindings": {"example.com/ana/widgets": {"store": "team"}},
    }
    config = home.path / ".config" / "agentm" / ".agentm-config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps(settings))
    return Device.now(home.environ).memory(str(home.project))


def test_each_part_of_a_recall_comes_from_its_own_store(project: Resolution) -> None:
    theirs = recall(project, phase="work")
    assert "(in the store 'team')" in theirs.splitlines()[0]
    assert theirs.count("Herons of the team") == 4
    assert "colleague" not in theirs
    mine = own(project.device, phase="work")
    assert "(your own notes, in the default store)" in mine.splitlines()[0]
    assert "Herons of my own are blue" in mine
    assert "team" not in mine


def test_the_operators_own_notes_have_a_third_of_the_room_and_the_project_the_rest(
    project: Resolution, home: Home
) -> None:
    for number in range(9):
        home.note(f"personal/facts/long-{number}.md", f"# Long {number}\n\n" + "words and words " * 40)
        long = Locator(f"projects/widgets/facts/long-{number}.md")
        project.backend.write(long, f"# Long {number}\n\n" + "words and words " * 40)
    tokens = {limit: len(own(project.device, phase="work", limit=limit)) / 4 for limit in (900, 1800)}
    assert 150 < tokens[900] <= 300 < tokens[1800] <= 600
    assert 300 < len(recall(project, phase="work", limit=900)) / 4 <= 600


def test_a_prompt_is_answered_from_both_in_turn_and_without_what_is_personal_to_others(project: Resolution) -> None:
    text = for_prompt(project, prompt="where do the herons go, port or blue?")
    assert "Herons of the team" in text
    assert "Herons of my own are blue" in text
    assert "colleague" not in text


def test_a_search_of_an_agent_asks_both_and_names_the_store_of_each_note(project: Resolution, home: Home) -> None:
    call = ToolCall(project.device, (str(home.project),), "codex", lambda *_: None)
    answer = search(call, "herons", limit=3)
    lines = [line for line in str(answer["text"]).splitlines() if line.startswith("- ")]
    assert answer["found"] == len(lines) == 3
    assert ["store team" in line for line in lines] == [True, False, True]
    assert "personal/facts/mine.md" in lines[1]
    assert "store default" in lines[1]
    assert "colleague" not in str(search(call, "herons", limit=10)["text"])


def test_a_search_says_that_the_notes_of_the_project_are_in_another_store(home: Home, project: Resolution) -> None:
    """On a device that was not told that the project had moved, "nothing found" was all."""
    (home.path / ".config" / "agentm" / ".agentm-config.json").unlink()
    record = {**json.loads(RECORD), "moved_to_store": "another"}
    home.note("projects/widgets/_project.json", json.dumps(record))

    searched = home.run("search", "cormorant")

    assert searched.returncode == 0
    assert "the notes of the project 'widgets' are in another store, another" in searched.stdout + searched.stderr
