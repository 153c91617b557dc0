"""Mine and the team's: whatever is saved, found and told, by commands, hooks and tools, with two stores at once."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel.cli import exit_code_of
from agentm_kernel.cli.app import run as run_app
from agentm_kernel.plugin import AgentmError, Device
from agentm_recall.page import open_notes
from tests.projects.test_more_stores import Laptop as SlowLaptop, keys

if TYPE_CHECKING:
    from pathlib import Path


class Laptop(SlowLaptop):
    """The same, with every command but hooks in this process."""

    def run(self, cwd: Path, *arguments: str, text: str = "", ok: bool = True) -> subprocess.CompletedProcess[str]:
        if arguments[0] == "hook":
            return super().run(cwd, *arguments, text=text, ok=ok)
        given, out, err = (io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (text.encode(), b"", b""))
        environ = mock.patch.dict(os.environ, self.environ, clear=True)
        with chdir(cwd), redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given), environ:
            try:
                code = exit_code_of(lambda: run_app(Device.now(), list(arguments)))
            except SystemExit as exit_:
                code = int(exit_.code or 0)
        said = []
        for stream in (out, err):
            stream.flush()
            said.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        assert not ok or code == 0, said
        return subprocess.CompletedProcess(arguments, code, *said)


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    """With a project, bound to the team's store, a note of it, and one of the operator's own."""
    laptop = Laptop(tmp_path, "one", tmp_path / "team")
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "The team stores everything in SQLite, in one file.\n")
    laptop.save(widgets, "tabs", "I want tabs and never spaces.\n", "--personal")
    return laptop


@pytest.fixture
def widgets(laptop: Laptop) -> Path:
    return laptop.home / "widgets"


def test_the_answer_of_save_says_which_store_has_the_note(laptop: Laptop, widgets: Path) -> None:
    said = laptop.run(widgets, "save", "--kind", "fact", "--slug", "a", text="Ours.\n").stdout
    assert said == f"created projects/widgets/facts/a.md in {laptop.team}\n"
    said = laptop.run(widgets, "save", "--kind", "fact", "--slug", "a", "--personal", "--json", text="Mine.\n").stdout
    assert json.loads(said)["saved"][0]["store"] == str(laptop.own)


def test_offers_are_saved_where_their_scope_lives(laptop: Laptop, widgets: Path) -> None:
    for kind, slug, text in (("fact", "offered", "We meet on Mondays."), ("always-load", "terse", "Be terse.")):
        offer = ("offer-save-here", "--kind", kind, "--slug", slug, "--body-file", "-")
        offered = laptop.run(widgets, *offer, text=text).stdout
        assert json.loads(offered)[0]["protocol"] == "vault"
        laptop.run(widgets, "save", "--from-json", "-", text=offered)
    assert "projects/widgets/facts/offered.md" in keys(laptop.team)
    assert keys(laptop.team, "personal") == []
    assert "personal/_always-load/terse.md" in keys(laptop.own, "personal")
    assert keys(laptop.own) == []


def test_a_search_finds_both_and_says_which_is_which(laptop: Laptop, widgets: Path) -> None:
    found = json.loads(laptop.run(widgets, "search", "tabs", "SQLite", "file", "spaces", "--json").stdout)["found"]
    assert {note["slug"]: note["store"] for note in found} == {"sqlite": "team", "tabs": "default"}
    assert ", store team" in laptop.run(widgets, "search", "SQLite").stdout
    only = json.loads(laptop.run(widgets, "search", "tabs", "SQLite", "--project", "widgets", "--json").stdout)
    assert {note["slug"] for note in only["found"]} == {"sqlite", "tabs"}


def test_notes_are_listed_shown_and_forgotten_in_both(laptop: Laptop, widgets: Path) -> None:
    listed = json.loads(laptop.run(widgets, "notes", "list", "--json").stdout)["notes"]
    assert {note["slug"]: note["store"] for note in listed} == {"sqlite": "team", "tabs": "default"}
    assert "never spaces" in laptop.run(widgets, "notes", "show", "tabs").stdout
    laptop.run(widgets, "forget", "tabs")
    laptop.run(widgets, "forget", "sqlite")
    assert json.loads(laptop.run(widgets, "notes", "list", "--json").stdout)["notes"] == []


def test_a_note_supersedes_none_of_another_store(laptop: Laptop, widgets: Path) -> None:
    save = ("save", "--kind", "fact", "--slug", "x", "--supersedes", "tabs")
    refused = laptop.run(widgets, *save, text="Ours.\n", ok=False)
    assert refused.returncode == 1
    assert "there is no note 'tabs'" in refused.stderr
    save = ("save", "--kind", "fact", "--slug", "x", "--personal", "--supersedes", "sqlite")
    refused = laptop.run(widgets, *save, text="Mine.\n", ok=False)
    assert "there is no note 'sqlite'" in refused.stderr


def test_a_session_is_told_both_and_which_is_which(laptop: Laptop, widgets: Path) -> None:
    told = laptop.run(widgets, "hook", "session-start").stdout
    own, theirs = told.index("your own notes, in the default store"), told.index("widgets (in the store 'team')")
    assert own < told.index("I want tabs") < theirs < told.index("The team stores")


def test_a_prompt_is_answered_from_both(laptop: Laptop, widgets: Path) -> None:
    laptop.run(widgets, "reindex")
    for prompt, answer in (("Where is SQLite's file stored?", "in one file"), ("Tabs or spaces?", "never spaces")):
        event = json.dumps({"cwd": str(widgets), "prompt": prompt})
        assert answer in laptop.run(widgets, "hook", "prompt", text=event).stdout


def test_a_store_that_is_gone_costs_its_own_part_of_a_session_and_of_a_prompt(laptop: Laptop, widgets: Path) -> None:
    laptop.team.rename(laptop.team.with_name("unmounted"))
    started = time.monotonic()
    told = laptop.run(widgets, "hook", "session-start").stdout
    assert time.monotonic() - started < 10  # the hook's own limit is 2 s; interpreters start slowly on a busy machine
    assert "I want tabs" in told
    assert "the store 'team' cannot be had" in told
    event = json.dumps({"cwd": str(widgets), "prompt": "Tabs or spaces?"})
    assert "never spaces" in laptop.run(widgets, "hook", "prompt", text=event).stdout
    searched = laptop.run(widgets, "search", "tabs")
    assert "tabs" in searched.stdout
    assert searched.stderr.count("the store 'team' cannot be had") == 1


def test_what_is_personal_in_the_teams_store_is_not_taken_for_mine(laptop: Laptop, widgets: Path) -> None:
    planted = laptop.team / "personal" / "facts" / "planted.md"
    planted.parent.mkdir(parents=True)
    planted.write_text("Tabs are obeyed by a plan of somebody else.\n")
    for words in (("recall-here",), ("search", "tabs"), ("notes", "list"), ("hook", "session-start")):
        assert "planted" not in laptop.run(widgets, *words).stdout


def test_one_store_can_be_worked_with_as_if_it_were_the_only_one(laptop: Laptop, widgets: Path) -> None:
    listed = json.loads(laptop.run(laptop.home, "--store", "team", "project", "list", "--json").stdout)
    assert [project["slug"] for project in listed["repos"]] == ["widgets"], "and none of the other store"
    shown = json.loads(laptop.run(laptop.home, "--store", "team", "store", "show", "--json").stdout)
    assert shown["place"] == str(laptop.team)
    laptop.run(laptop.home, "--store", "team", "doctor", "--requires", "sync")
    assert laptop.run(laptop.home, "doctor", "--requires", "sync", ok=False).returncode == 1
    assert "SQLite" in laptop.run(laptop.home, "--store", "team", "search", "SQLite").stdout
    taken = laptop.run(laptop.home, "--store", "team", "checkpoint", "create", "--json").stdout
    assert json.loads(taken)["notes"] == 3
    save = ("save", "--personal", "--kind", "fact", "--slug", "x")
    refused = laptop.run(widgets, "--store", "team", *save, text="x", ok=False)
    assert "lives in the default store" in refused.stderr
    refused = laptop.run(laptop.home, "--store", "other", "doctor", ok=False)
    assert "there is no store called 'other'" in refused.stderr


def test_the_page_can_show_one_store_and_saves_nothing_personal_there(laptop: Laptop, tmp_path: Path) -> None:
    laptop.run(laptop.home, "--store", "team", "view", "--export", str(tmp_path / "page"))
    page = b"".join(file.read_bytes() for file in (tmp_path / "page").rglob("*") if file.is_file())
    assert b"The team stores everything" in page
    assert b"never spaces" not in page
    team = Device.now(laptop.environ).of_store("team")
    with pytest.raises(AgentmError, match="lives in the default store"):
        open_notes(team).save({"kind": "fact", "name": "mine", "body": "Mine alone."})


# ------------------------------------------------------------------------------------------------ projects by name


@pytest.mark.parametrize("is_git", [True, False])
def test_a_project_that_is_named_is_looked_for_in_its_own_store(laptop: Laptop, *, is_git: bool) -> None:
    """Whoever works on the diary, or on nothing, and speaks of the team's project: it is in the team's store."""
    here = laptop.checkout("diary", None) if is_git else laptop.home
    saved = laptop.run(here, "save", "--project", "widgets", "--kind", "fact", "--slug", "a", text="Ours alone.\n")
    assert saved.stdout == f"created projects/widgets/facts/a.md in {laptop.team}\n"
    assert keys(laptop.own) == []
    assert "Ours alone" in laptop.run(here, "notes", "show", "a", "--project", "widgets").stdout
    found = json.loads(laptop.run(here, "search", "ours", "tabs", "--project", "widgets", "--json").stdout)["found"]
    assert {note["slug"]: note["store"] for note in found} == {"a": "team", "tabs": "default"}
    assert "SQLite" in laptop.run(here, "documenter-context", "--slug", "widgets").stdout
    laptop.run(here, "forget", "a", "--project", "widgets")
    assert "Ours alone" not in laptop.run(here, "notes", "list", "--project", "widgets").stdout


def test_a_named_project_has_the_name_that_its_store_gave_it(tmp_path: Path) -> None:
    """Somebody else's widgets was in the team's store first."""
    laptop = Laptop(tmp_path, "one", tmp_path / "team")
    laptop.add_team(make=True)
    theirs, mine = laptop.checkout("theirs/widgets", "git@example.com:bob/widgets.git"), laptop.checkout("widgets")
    laptop.run(theirs, "--store", "team", "save", "--kind", "fact", "--slug", "bobs", text="Of Bob.\n")
    laptop.save(mine, "before", "Before the move.\n")
    laptop.run(mine, "project", "use-store", "team", "--move", "--yes")
    named = json.loads(laptop.run(mine, "project", "show", "--json").stdout)["slug"]
    assert named != "widgets"
    for name in ("widgets", named):  # as the default store knows it, and as the team's does
        said = laptop.run(laptop.home, "save", "--project", name, "--slug", f"by-{name}", text="Mine.\n").stdout
        assert said == f"created projects/{named}/facts/by-{name}.md in {laptop.team}\n"
    assert "Of Bob" not in laptop.run(laptop.home, "notes", "list", "--project", named).stdout


def test_a_named_project_whose_store_is_gone_is_refused(laptop: Laptop) -> None:
    laptop.team.rename(laptop.team.with_name("unmounted"))
    save = ("save", "--project", "widgets", "--kind", "fact", "--slug", "a")
    refused = laptop.run(laptop.home, *save, text="Ours.\n", ok=False)
    assert refused.returncode == 1
    assert "the store 'team' cannot be had" in refused.stderr
    assert keys(laptop.own) == []


def test_a_named_project_without_a_remote_is_found_by_what_this_device_knows_of_its_checkout(laptop: Laptop) -> None:
    """Another folder of this name may be in the team's store, and nothing but the checkout tells the two apart."""
    other = laptop.checkout("elsewhere/diary", None)
    laptop.run(other, "--store", "team", "save", "--kind", "fact", "--slug", "a", text="Theirs.\n")
    diary = laptop.checkout("diary", None)
    laptop.run(diary, "project", "use-store", "team")
    save = ("save", "--project", "diary", "--kind", "fact", "--slug", "a")
    laptop.run(laptop.home, *save, text="Mine.\n")
    laptop.run(laptop.home, *save, "--update", "--cwd", str(diary), text="Mine, and changed.\n")
    assert keys(laptop.own) == []
    assert "Theirs." in (laptop.team / "projects/diary/facts/a.md").read_text()
    assert "Mine, and changed." in (laptop.team / "projects/diary-2/facts/a.md").read_text()
    for known in (laptop.home / ".local/state/agentm/stores").rglob("checkouts.json"):
        known.unlink()
    refused = laptop.run(laptop.home, *save, text="Mine.\n", ok=False)
    assert refused.returncode == 1
    assert "--cwd" in refused.stderr


def test_a_tool_call_finds_a_project_that_is_named(laptop: Laptop) -> None:
    from agentm_kernel.plugin import ToolCall
    from agentm_recall.tool_place import place_for_reading, place_for_writing

    call = ToolCall(Device.now(laptop.environ), (str(laptop.checkout("diary", None)),), "test", print)
    for place in (place_for_reading(call, "widgets"), place_for_writing(call, "widgets", claiming=True)):
        assert place.backend.describe() == str(laptop.team)
    assert [part.store for part in place.parts] == ["team", "default"]


def test_an_import_and_an_export_find_a_project_that_is_named(laptop: Laptop, tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "moon.md").write_text("The moon is far.\n")
    words = ("import", "markdown", str(tmp_path / "facts"), "--project", "widgets", "--yes")
    laptop.run(laptop.home, *words)
    assert [key for key in keys(laptop.team) if key.endswith("moon.md")]
    assert keys(laptop.own) == []
    assert "0 new" not in laptop.run(laptop.home, *words).stdout
    laptop.run(laptop.home, "export", "codex", str(tmp_path / "out"), "--project", "widgets")
    assert "moon is far" in "".join(file.read_text() for file in (tmp_path / "out").rglob("*.md"))


def test_the_log_says_which_store_each_note_came_from(laptop: Laptop, widgets: Path) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "one", "cwd": str(widgets), "source": "startup"}
    laptop.run(widgets, "hook", "session-start", "--host", "claude-code", text=json.dumps(event))
    (line,) = json.loads(laptop.run(widgets, "log", "--json").stdout)["lines"]
    assert line["store"] == "team"
    assert dict(zip(line["notes"], line["stores"], strict=True)) == {
        "personal/decisions/tabs": "default",
        "projects/widgets/decisions/sqlite": "team",
    }
    assert "tabs (default), sqlite (team)" in laptop.run(widgets, "log").stdout


# ------------------------------------------------------------------------------------------------ only a team's store


@pytest.fixture
def teams_only(tmp_path: Path) -> Laptop:
    laptop = Laptop(tmp_path, "two", tmp_path / "clone")
    origin = tmp_path / "team.git"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True, env=laptop.environ)
    laptop.run(laptop.home, "git", "init", str(laptop.team), f"file://{origin}", "--use")
    return laptop


def test_personal_text_is_not_saved_where_only_a_teams_store_is(teams_only: Laptop) -> None:
    diary = teams_only.checkout("diary", None)
    for words in (("--kind", "fact", "--personal"), ("--kind", "always-load")):
        refused = teams_only.run(diary, "save", *words, "--slug", "job", text="I look for a job.\n", ok=False)
        assert refused.returncode == 1
        assert "would read a personal note" in refused.stderr
    assert keys(teams_only.team, "personal") == []

    hint = refused.stderr.partition("hint: ")[2]
    first, second = (part for number, part in enumerate(hint.split("`")) if number in (1, 3))
    for command in (first, second):
        teams_only.run(diary, *command.split()[1:])
    teams_only.run(diary, "save", "--kind", "fact", "--personal", "--slug", "job", text="I look for a job.\n")
    assert keys(teams_only.own, "personal") == ["personal/facts/job.md"]
    assert keys(teams_only.team, "personal") == []


def test_the_hint_leads_on_to_what_a_project_had_in_the_team_s_store(teams_only: Laptop) -> None:
    """After two of its commands, a session was told that memory is empty, and new notes went beside the old ones."""
    widgets = teams_only.checkout("widgets", "git@example.com:ana/widgets.git")
    teams_only.save(widgets, "tabs", "We use tabs.\n")
    teams_only.run(widgets, "state", "write", "PLAN.md", text="# Plan: the widget\n")
    refused = teams_only.run(widgets, "save", "--personal", "--slug", "job", text="I look for a job.\n", ok=False)

    for command in refused.stderr.partition("hint: ")[2].split("`")[1:6:2]:
        teams_only.run(widgets, *command.split()[1:])

    told = teams_only.run(widgets, "hook", "session-start").stdout
    assert "We use tabs." in told
    assert str(teams_only.team / "projects" / "widgets" / "_harness" / "PLAN.md") in told


def test_whoever_has_the_remote_alone_says_so_once(teams_only: Laptop) -> None:
    diary = teams_only.checkout("diary", None)
    teams_only.run(diary, "config", "set", "plugins.recall.share_personal", "true")
    teams_only.run(diary, "save", "--kind", "fact", "--personal", "--slug", "job", text="I look for a job.\n")
    assert keys(teams_only.team, "personal") == ["personal/facts/job.md"]


def test_an_import_leaves_personal_text_behind_where_only_a_teams_store_is(
    teams_only: Laptop, tmp_path: Path
) -> None:
    memory = teams_only.home / ".claude" / "CLAUDE.md"
    memory.parent.mkdir()
    memory.write_text("# Mine\n\nI look for a job.\n")
    words = ("import", "claude-code", "--yes")
    planned = teams_only.run(teams_only.home, *words, "--dry-run", ok=False)
    refused = teams_only.run(teams_only.home, *words, ok=False)
    assert refused.returncode == 1
    for said in (planned.stderr, refused.stderr):
        assert "would read a personal note" in said
        assert "agentm config set storage.backend device-local" in said
    assert keys(teams_only.team, "personal") == []
    teams_only.run(teams_only.home, "config", "set", "plugins.recall.share_personal", "true")
    teams_only.run(teams_only.home, *words)
    assert keys(teams_only.team, "personal") != []


def test_an_import_of_a_whole_store_leaves_personal_text_behind_too(teams_only: Laptop, tmp_path: Path) -> None:
    """A folder that was exported has the keys of its notes."""
    own = Laptop(tmp_path, "three", tmp_path / "none")
    own.save(own.home, "job", "I look for a job.\n", "--personal")
    own.run(own.home, "export", "markdown", str(tmp_path / "out"))
    refused = teams_only.run(teams_only.home, "import", "markdown", str(tmp_path / "out"), "--yes", ok=False)
    assert "would read a personal note" in refused.stderr
    assert keys(teams_only.team, "personal") == []
