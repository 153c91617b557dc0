"""A project that is meant by its name is found in the store that has it now, and no other is taken for it."""

from __future__ import annotations

import json
from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import (
    AgentmError,
    ConfigError,
    Device,
    FileStore,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageBackend,
    StorageSelectionError,
    ToolCall,
    read_stamp,
    stamp_store,
)
from agentm_recall.index.search import Scope
from agentm_recall.named_projects import named_project, place_now, project_there
from agentm_recall.searching import search_both
from agentm_recall.tool_reading import read, recall, search
from agentm_recall.tool_writing import append

if TYPE_CHECKING:
    from conftest import Home

REMOTE = "example.com/ana/widgets"


def record(**more: object) -> str:
    return json.dumps({"version": 1, "id": "1", "remotes": [REMOTE], **more})


class Team:
    """A further store that the project `widgets` is bound to; this device works in another folder."""

    def __init__(self, home: Home, own: StorageBackend) -> None:
        self.home, self.own = home, own
        self.store = FileStore(home.path / "team", create_root=True)
        stamp_store(self.store)
        self.elsewhere = home.path / "elsewhere"
        self.elsewhere.mkdir()
        self.settings = {
            "stores": {"team": {"backend": "device-local", "root": str(home.path / "team")}},
            "bindings": {REMOTE: {"store": "team"}},
        }
        self.configure()

    def configure(self, **more: object) -> None:
        file = self.home.path / ".config" / "agentm" / ".agentm-config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**self.settings, **more}))

    @property
    def device(self) -> Device:
        return Device.now({"HOME": str(self.home.path)})

    @property
    def call(self) -> ToolCall:
        return self.called_in(self.elsewhere)

    def called_in(self, folder: Path) -> ToolCall:
        return ToolCall(self.device, (str(folder),), "codex", lambda *_: None)

    def put(self, key: str, text: str) -> None:
        self.store.write(Locator(key), text)


@pytest.fixture
def team(home: Home, store: StorageBackend) -> Team:
    made = Team(home, store)
    made.put("projects/widgets/_project.json", record())
    made.put("projects/widgets/facts/heron.md", "# Heron\n\nHerons of the team go to 8443.\n")
    made.put("personal/facts/theirs.md", "# Theirs\n\nHerons of a colleague are grey.\n")
    home.note("personal/facts/mine.md", "# Mine\n\nHerons of my own are blue.\n")
    return made


# ------------------------------------------------------------------------------------------------ by its name


def test_a_name_that_only_the_bound_store_has_is_the_project_there(team: Team) -> None:
    found = named_project(team.device, "widgets", read_only=True)
    assert (found.backend.describe(), found.folder, found.store) == (
        team.store.describe(),
        Locator("projects/widgets"),
        "team",
    )
    theirs, own = found.parts(team.device)
    assert (theirs.backend.describe(), theirs.folders, theirs.store) == (
        team.store.describe(),
        [Locator("projects/widgets")],
        "team",
    )
    assert (own.backend.describe(), own.folders, own.store) == (team.own.describe(), [Locator("personal")], "default")


@pytest.mark.parametrize("is_left_here", [False, True])
def test_a_project_that_another_device_took_out_of_the_bound_store_is_refused(team: Team, is_left_here: bool) -> None:
    """What was written there would be read by nobody."""
    if is_left_here:
        team.own.write(Locator("projects/widgets/_project.json"), record(moved_to_store=read_stamp(team.store)))
        team.put(f"_meta/remotes/{crc32(REMOTE.encode()):08x}.json", json.dumps({REMOTE: "widgets"}))
    team.put("projects/widgets/_project.json", record(moved_to_store="of-another-device"))
    for read_only in (True, False):
        with pytest.raises(StorageSelectionError, match="are in another store, of-another-device"):
            named_project(team.device, "widgets", read_only=read_only)


def test_a_project_of_that_name_that_is_not_bound_there_is_another_one(team: Team) -> None:
    team.put("projects/widgets/_project.json", record(remotes=["example.com/bob/widgets"]))
    with pytest.raises(NotFoundError, match="there is no project 'widgets' in this store"):
        named_project(team.device, "widgets", read_only=True)


def test_a_name_that_the_default_store_has_notes_of_is_the_project_there(team: Team) -> None:
    team.home.note("projects/gadgets/facts/a.md", "A.\n")
    found = named_project(team.device, "gadgets", read_only=True)
    assert (found.backend.describe(), found.folder, found.store) == (
        team.own.describe(),
        Locator("projects/gadgets"),
        None,
    )
    (part,) = found.parts(team.device)
    assert (part.folders, part.store) == ([Locator("projects/gadgets"), Locator("personal")], None)


def test_a_name_that_is_nowhere_is_refused_with_the_one_that_is_near_unless_it_may_be_new(team: Team) -> None:
    team.home.note("personal-projects/gadgets/facts/a.md", "A.\n")
    with pytest.raises(NotFoundError) as refused:
        named_project(team.device, "gadgest", read_only=True)
    assert str(refused.value.hint).startswith("did you mean 'gadgets'? `agentm project list` shows them")
    with pytest.raises(NotFoundError) as refused:
        named_project(team.device, "submarine", read_only=True)
    assert str(refused.value.hint).startswith("`agentm project list` shows them")
    found = named_project(team.device, "submarine", read_only=False, may_be_new=True)
    assert (found.folder, found.store) == (Locator("projects/submarine"), None)
    found.backend.write(Locator("projects/submarine/facts/a.md"), "A.\n")


def test_a_project_that_was_renamed_is_found_by_both_names(team: Team) -> None:
    team.home.note("projects/gadgets/facts/a.md", "A.\n")
    team.own.write(Locator("projects/gadgets/_project.json"), record(id="2", remotes=[]))
    team.own.write(Locator("projects/gizmos/_project.json"), record(id="2", remotes=[], moved_to="gadgets"))
    for name in ("gadgets", "gizmos"):
        assert named_project(team.device, name, read_only=True).folder == Locator("projects/gadgets")
        assert project_there(team.own, name) == Locator("projects/gadgets")
    place = place_now(team.device, team.own, Locator("projects/gizmos/facts/a.md"))
    assert (place[0], place[1]) == (team.own, Locator("projects/gadgets/facts/a.md"))


def test_where_a_project_is_looked_for_in_one_store_it_has_to_be_there(team: Team) -> None:
    team.home.note("projects/gadgets/facts/a.md", "A.\n")
    assert project_there(team.own, "gadgets") == Locator("projects/gadgets")
    with pytest.raises(NotFoundError, match="there is no project 'submarine'"):
        project_there(team.own, "submarine")


# ------------------------------------------------------------------------------------------------ that has moved


def moved(team: Team, store: str | None = None) -> None:
    """The default store says that the project is in another one now."""
    there = store or read_stamp(team.store)
    team.own.write(Locator("projects/widgets/_project.json"), record(moved_to_store=there))


def pointed(team: Team, slug: str) -> None:
    """The team's store says under which name it has the repository."""
    file = f"_meta/remotes/{crc32(REMOTE.encode()):08x}.json"
    team.put(file, json.dumps({REMOTE: slug}))


def test_a_project_that_has_left_is_found_in_the_store_that_it_is_in_under_the_name_that_it_has_there(
    team: Team,
) -> None:
    moved(team)
    team.put("projects/gizmos/_project.json", record())
    pointed(team, "gizmos")
    found = named_project(team.device, "widgets", read_only=True)
    assert (found.backend.describe(), found.folder, found.store) == (
        team.store.describe(),
        Locator("projects/gizmos"),
        "team",
    )
    store, key = place_now(team.device, team.own, Locator("projects/widgets/facts/new.md"))
    assert (store.describe(), key) == (team.store.describe(), Locator("projects/gizmos/facts/new.md"))
    store.write(key, "It can be written.\n")


def test_a_project_there_that_is_of_another_repository_is_not_the_one(team: Team) -> None:
    moved(team)
    team.put("projects/gizmos/_project.json", record(remotes=["example.com/bob/gizmos"]))
    pointed(team, "gizmos")
    with pytest.raises(ConfigError, match="says which project there"):
        named_project(team.device, "widgets", read_only=True)


def test_a_project_that_has_left_for_another_store_is_refused_where_only_one_is_meant(team: Team) -> None:
    moved(team)
    with pytest.raises(LocatorConflictError) as refused:
        project_there(team.own, "widgets")
    assert "`agentm save --project widgets`" in str(refused.value.hint)


def test_a_project_whose_store_this_device_has_not_is_refused_with_how_to_add_it(team: Team) -> None:
    moved(team, "another-store")
    with pytest.raises(StorageSelectionError) as refused:
        named_project(team.device, "widgets", read_only=True)
    assert "`agentm store add NAME PROTOCOL" in str(refused.value.hint)
    with pytest.raises(StorageSelectionError):
        place_now(team.device, team.own, Locator("projects/widgets/facts/a.md"))


def test_a_store_that_cannot_be_had_may_be_the_one(team: Team) -> None:
    moved(team, "another-store")
    team.configure(stores={**team.settings["stores"], "lost": {"backend": "none-such"}})
    with pytest.raises(StorageSelectionError, match="none-such"):
        named_project(team.device, "widgets", read_only=True)


def test_a_store_that_does_not_say_which_project_it_is_there_is_refused(team: Team) -> None:
    moved(team)
    with pytest.raises(ConfigError, match="says which project there 'widgets' is") as refused:
        named_project(team.device, "widgets", read_only=True)
    assert "`--cwd DIR`" in str(refused.value.hint)


# ------------------------------------------------------------------------------------------------ by an agent


def test_an_agent_elsewhere_gets_the_notes_of_a_project_that_it_names_and_the_operators_own(team: Team) -> None:
    answer = recall(team.call, project="widgets")
    text = str(answer["text"])
    assert (answer["project"], answer["store"]) == ("widgets", team.store.describe())
    assert text.index("Herons of my own are blue") < text.index("Herons of the team go to 8443")
    assert "# Memory: project widgets (in the store 'team'), phase work" in text
    assert "colleague" not in text
    assert str(recall(team.call, "no-such-phase", project="widgets")["text"]) == text
    assert "phase review" in str(recall(team.call, "review", project="widgets")["text"])


def test_a_recall_of_a_named_project_keeps_to_its_room_in_both_parts(team: Team) -> None:
    for number in range(9):
        team.home.note(f"personal/facts/long-{number}.md", f"# Long {number}\n\n" + "words and words " * 40)
        team.put(f"projects/widgets/facts/long-{number}.md", f"# Long {number}\n\n" + "words and words " * 40)
    own, theirs = str(recall(team.call, budget=900, project="widgets")["text"]).split("\n# Memory: project widgets")
    assert 150 < len(own) / 4 <= 300 < len(theirs) / 4 <= 600


def test_a_question_about_a_named_project_is_answered_from_its_store(team: Team) -> None:
    team.put("projects/widgets/facts/crane.md", "# Crane\n\nCranes go elsewhere.\n")
    own, theirs = str(recall(team.call, query="heron", project="widgets")["text"]).split(
        "\n# Memory: project widgets"
    )
    assert "Herons of my own are blue" in own
    assert "Herons of the team" in theirs
    assert "1 not matching the query" in theirs


def test_an_agent_searches_both_and_reads_and_changes_each_where_it_is(team: Team) -> None:
    answer = search(team.call, "herons", project="widgets")
    assert answer["found"] == 2
    assert "theirs" not in str(answer["text"])
    theirs, mine = read(team.call, "heron", project="widgets"), read(team.call, "mine", project="widgets")
    assert (theirs["store"], mine["store"]) == (team.store.describe(), team.own.describe())
    assert append(team.call, "heron", "At night.", project="widgets")["store"] == team.store.describe()
    assert team.store.read(Locator("projects/widgets/facts/heron.md")).endswith("8443.\nAt night.\n")


def test_an_agent_in_the_project_gets_both_parts_too(team: Team) -> None:
    call = team.called_in(team.home.project)
    text = str(recall(call)["text"])
    assert text.index("Herons of my own are blue") < text.index("Herons of the team go to 8443")
    assert read(call, "heron")["store"] == team.store.describe()


def test_the_answers_of_two_stores_are_merged_by_rank_and_counted_together(team: Team) -> None:
    for number in range(3):
        team.put(f"projects/widgets/facts/heron-{number}.md", f"# Heron {number}\n\nHerons of the team, too.\n")
    team.put("projects/widgets/facts/gone.md", "---\nstatus: deleted\n---\n\nHerons were here.\n")
    team.home.note("personal/facts/gone.md", "---\nstatus: deleted\n---\n\nHerons were mine.\n")
    found = search_both(team.device, "team", "herons", Scope("widgets"), limit=3, explain=True)
    assert [one.store for one in found.found] == ["team", "default", "team"]
    assert all(one.words for one in found.found)
    assert (found.dead, found.notices) == (2, ())
    assert found.is_answer
    assert found.confidence > 0
    dead = search_both(team.device, "team", "herons", Scope("widgets", with_dead=True), limit=10)
    assert (dead.dead, len(dead.found)) == (0, 7)
    kind = search_both(team.device, "team", "herons", Scope("widgets", kind="decision"), limit=10)
    assert kind.found == []
    everywhere = search_both(team.device, "team", "herons", Scope(), limit=10)
    assert {one.store for one in everywhere.found} == {"team", "default"}


def test_a_store_that_cannot_be_had_is_a_notice_beside_what_the_other_has(team: Team) -> None:
    team.configure(stores={"team": {"backend": "none-such"}})
    found = search_both(team.device, "team", "herons", Scope("widgets"), limit=3)
    assert [one.store for one in found.found] == ["default"]
    assert any("none-such" in notice for notice in found.notices)
    with pytest.raises(AgentmError, match="none-such"):
        search_both(team.device, "team", "submarines", Scope("widgets"), limit=3)
