"""`agentm project use-store --move`: plans go where state belongs, and what will happen is said before it does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentm_import.moving import use_store
from agentm_import.moving.use_store import StoreChange
from agentm_kernel import Locator
from agentm_kernel.plugin import Device, FileStore
from tests.projects.test_more_stores import ANA, Laptop

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLAN = "# Plan: ship the widget\n"
MOVE = ("project", "use-store", "team", "--move", "--yes")
BACK = ("project", "use-store", "default", "--move", "--yes")


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    laptop = Laptop(tmp_path, "one", tmp_path / "team")
    laptop.add_team(make=True)
    return laptop


@pytest.fixture
def widgets(laptop: Laptop) -> Path:
    checkout = laptop.checkout("widgets")
    laptop.save(checkout, "sqlite", "We use SQLite.\n")
    laptop.run(checkout, "state", "write", "PLAN.md", text=PLAN)
    laptop.run(checkout, "state", "append", "progress.md", text="begun\n")
    (checkout / ".harness" / "features.json").write_text("{}\n")
    return checkout


def in_store(laptop: Laptop) -> Path:
    return laptop.team / "projects" / "widgets" / "_harness"


def test_plans_go_into_a_store_that_keeps_state_and_come_back(laptop: Laptop, widgets: Path) -> None:
    moved = laptop.run(widgets, *MOVE)
    assert "PLAN.md, progress.md: from .harness/ into the store" in moved.stdout
    assert "3 files were copied" in moved.stdout
    assert (in_store(laptop) / "PLAN.md").read_text() == PLAN
    assert laptop.run(widgets, "state", "read", "PLAN.md").stdout == PLAN
    assert sorted(file.name for file in (widgets / ".harness").iterdir()) == [".gitignore", "features.json"]

    (widgets / ".harness" / ".gitignore").unlink()
    laptop.run(widgets, "state", "append", "progress.md", text="done\n")
    back = laptop.run(widgets, *BACK)
    assert "PLAN.md, progress.md: from the store into .harness/" in back.stdout
    assert laptop.run(widgets, "state", "read", "PLAN.md").stdout == PLAN
    assert (widgets / ".harness" / "progress.md").read_text() == "begun\ndone\n"
    assert (widgets / ".harness" / ".gitignore").read_text() == "*\n"
    assert not list(in_store(laptop).glob("*.md"))
    assert not (laptop.own / "projects" / "widgets" / "_harness").exists()


def test_without_move_plans_stay_and_the_command_that_takes_them_along_is_said(laptop: Laptop) -> None:
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "state", "write", "PLAN.md", text=PLAN)
    said = laptop.run(widgets, "project", "use-store", "team").stdout
    assert "PLAN.md stays in .harness/, where nobody reads it now" in said
    assert "`agentm project use-store team --move`" in said
    assert (widgets / ".harness" / "PLAN.md").read_text() == PLAN
    laptop.run(widgets, *MOVE)
    assert laptop.run(widgets, "state", "read", "PLAN.md").stdout == PLAN
    assert not (widgets / ".harness" / "PLAN.md").exists()


def test_another_plan_is_never_written_over(laptop: Laptop, widgets: Path) -> None:
    laptop.run(widgets, *MOVE)
    (widgets / ".harness" / "PLAN.md").write_text("# Plan: another\n")
    for command in (MOVE, BACK):
        refused = laptop.run(widgets, *command, ok=False)
        assert refused.returncode == 1
        assert "PLAN.md" in refused.stderr
        assert "nothing was written" in refused.stderr
        assert (widgets / ".harness" / "PLAN.md").read_text() == "# Plan: another\n"
        assert (in_store(laptop) / "PLAN.md").read_text() == PLAN
        assert Device.now(laptop.environ).config.bindings == {"example.com/ana/widgets": "team"}


def test_a_plan_with_a_secret_does_not_go_to_the_team(laptop: Laptop, widgets: Path) -> None:
    (widgets / ".harness" / "PLAN.md").write_text("token: ghp_16C7e42F292c6912E7710c838347Ae178B4a\n")
    refused = laptop.run(widgets, *MOVE, ok=False)
    assert refused.returncode == 1
    assert "secret" in refused.stderr
    assert Device.now(laptop.environ).config.bindings == {}
    assert not (laptop.team / "projects").exists()


def configure_by_hand(laptop: Laptop, name: str, root: Path) -> None:
    """A store that `agentm store add` refuses."""
    for option, value in (("backend", "device-local"), ("root", str(root))):
        laptop.run(laptop.home, "config", "set", f"stores.{name}.{option}", value)


@pytest.mark.parametrize("moved", [(), ("--move", "--yes")])
def test_a_second_name_for_the_same_store_is_no_place_to_move_to(
    laptop: Laptop, widgets: Path, moved: tuple[str, ...]
) -> None:
    configure_by_hand(laptop, "again", laptop.own)
    before = laptop.run(widgets, "notes", "show", "sqlite").stdout
    refused = laptop.run(widgets, "project", "use-store", "again", *moved, ok=False)
    assert refused.returncode == 1
    assert "is the store that the project is in" in refused.stderr
    assert laptop.run(widgets, "notes", "show", "sqlite").stdout == before
    assert Device.now(laptop.environ).config.bindings == {}


def test_an_empty_store_is_known_by_its_second_name_too(laptop: Laptop) -> None:
    checkout = laptop.checkout("fresh")
    configure_by_hand(laptop, "again", laptop.own)
    assert laptop.run(checkout, "project", "use-store", "again", ok=False).returncode == 1
    laptop.save(checkout, "sqlite", "We use SQLite.\n")


@pytest.mark.parametrize("inside", ["inner", "projects/widgets/inner"])
def test_a_store_inside_the_store_is_no_place_to_move_to(laptop: Laptop, widgets: Path, inside: str) -> None:
    configure_by_hand(laptop, "inner", laptop.own / inside)
    before = sorted(laptop.own.rglob("*"))
    refused = laptop.run(widgets, "project", "use-store", "inner", "--move", "--yes", ok=False)
    assert refused.returncode == 1
    assert "lies inside" in refused.stderr
    assert sorted(laptop.own.rglob("*")) == before


def test_other_versions_of_a_note_are_settled_before_it_moves(laptop: Laptop, widgets: Path) -> None:
    laptop.run(widgets, *MOVE)
    copy = next(laptop.team.rglob("sqlite.md")).with_name("sqlite (Ada's conflicted copy 2026-05-01).md")
    copy.write_text("Another version.\n")
    refused = laptop.run(widgets, *BACK, ok=False)
    assert refused.returncode == 1
    assert "is a conflict copy, which would be left behind" in refused.stderr
    assert laptop.run(widgets, "notes", "show", "sqlite").stdout.endswith("We use SQLite.\n")


def test_nothing_is_moved_to_a_project_that_has_left_the_store(laptop: Laptop, widgets: Path) -> None:
    gadgets = laptop.checkout("gadgets", "git@example.com:ana/gadgets.git")
    laptop.save(gadgets, "tea", "We drink tea.\n")
    laptop.run(widgets, *MOVE)
    record = (laptop.own / "projects" / "widgets" / "_project.json").read_text()
    for words in (
        ("notes", "move", "tea", "--to-project", "widgets"),
        ("project", "merge", "gadgets", "widgets"),
        ("project", "merge", "widgets", "gadgets"),
        ("project", "rename", "widgets", "things"),
    ):
        refused = laptop.run(gadgets, *words, ok=False)
        assert refused.returncode == 1
        assert "are in another store" in refused.stderr
    assert "We drink tea." in laptop.run(gadgets, "notes", "show", "tea").stdout
    assert (laptop.own / "projects" / "widgets" / "_project.json").read_text() == record


@pytest.mark.parametrize("words", [("--personal",), ("--kind", "always-load")])
def test_a_note_of_a_bound_project_does_not_become_one_that_nobody_reads(
    laptop: Laptop, widgets: Path, words: tuple[str, ...]
) -> None:
    laptop.run(widgets, *MOVE)
    refused = laptop.run(widgets, "notes", "move", "sqlite", *words, ok=False)
    assert refused.returncode == 1
    assert "are in the default store" in refused.stderr
    assert "We use SQLite." in laptop.run(widgets, "search", "SQLite").stdout


def test_a_note_is_moved_to_a_project_by_the_name_that_it_had(laptop: Laptop, widgets: Path) -> None:
    gadgets = laptop.checkout("gadgets", "git@example.com:ana/gadgets.git")
    laptop.save(gadgets, "tea", "We drink tea.\n")
    laptop.run(widgets, "project", "rename", "widgets", "things")
    laptop.run(gadgets, "notes", "move", "tea", "--to-project", "widgets")
    assert "We drink tea." in laptop.run(widgets, "notes", "show", "tea").stdout
    assert (laptop.own / "projects" / "things" / "decisions" / "tea.md").exists()


def test_state_that_is_local_stays_where_it_is(laptop: Laptop, widgets: Path) -> None:
    laptop.run(laptop.home, "config", "set", "state_mode", "local")
    assert ".harness" not in laptop.run(widgets, *MOVE).stdout
    assert (widgets / ".harness" / "PLAN.md").read_text() == PLAN
    assert not in_store(laptop).exists()


def test_a_name_that_is_taken_there_is_said_before_anything_happens(laptop: Laptop, widgets: Path) -> None:
    other = '{"version": 1, "id": "7", "remotes": ["example.com/bob/widgets"]}\n'
    FileStore(laptop.team).write(Locator("projects/widgets/_project.json"), other)
    before = sorted(str(file) for file in laptop.team.rglob("*"))

    refused = laptop.run(widgets, "project", "use-store", "team", "--move", ok=False)
    assert refused.returncode == 1
    assert "its name there is 'ana-widgets': 'widgets' is another project's" in refused.stdout
    assert sorted(str(file) for file in laptop.team.rglob("*")) == before
    assert Device.now(laptop.environ).config.bindings == {}

    answer = json.loads(laptop.run(widgets, *MOVE, "--json").stdout)
    assert (answer["project"], answer["before"]) == ("ana-widgets", "widgets")
    assert (laptop.team / "projects/ana-widgets/decisions/sqlite.md").exists()
    assert (laptop.team / "projects/widgets/_project.json").read_text() == other


def test_a_plan_that_is_only_shown_changes_neither_store(laptop: Laptop, widgets: Path) -> None:
    def files() -> list[str]:
        return sorted(str(file) for root in (laptop.team, laptop.own) for file in root.rglob("*"))

    before = files()
    refused = laptop.run(widgets, "project", "use-store", "team", "--move", ok=False)
    assert "There is no terminal to ask on\nhint: add --yes" in refused.stderr
    assert files() == before


def test_a_project_that_came_back_can_be_removed_where_it_was_later(laptop: Laptop, widgets: Path) -> None:
    """The command says so when nobody agreed to the removal; it is finished by running it again."""
    laptop.run(widgets, *MOVE)
    change = StoreChange(Device.now(laptop.environ), str(widgets), None)
    change.check(move=True)
    assert change.make() == 3  # and here somebody said no, or the power went
    assert (in_store(laptop) / "PLAN.md").exists()

    assert "removed from the place before: 3 files" in laptop.run(widgets, *BACK).stdout
    assert not (in_store(laptop) / "PLAN.md").exists()
    assert laptop.run(widgets, "state", "read", "PLAN.md").stdout == PLAN
    assert "already" in laptop.run(widgets, *BACK).stdout


class Killed(KeyboardInterrupt):
    """The process ends here; nothing of ours catches it."""


@pytest.fixture
def end_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """End the process before the n-th change of any file of a store, a checkout or the configuration; 0 for never."""
    left = 0

    def counting(change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return change(*given, **named)

        return counted

    for verb in ("write", "delete"):
        monkeypatch.setattr(FileStore, verb, counting(getattr(FileStore, verb)))
    monkeypatch.setattr(use_store, "bind_project", counting(use_store.bind_project))

    def set_end(number: int) -> None:
        nonlocal left
        left = number

    return set_end


def test_wherever_a_move_is_cut_off_it_is_finished_by_running_it_again(
    laptop: Laptop, widgets: Path, end_at: Callable[[int], None]
) -> None:
    """There and back, ended before each change in turn. Nothing is lost, and nothing is in two places at the end."""

    def move(name: str | None) -> None:
        change = StoreChange(Device.now(laptop.environ), str(widgets), name)
        if change.is_done:
            return
        change.check(move=True)
        change.make()
        change.remove()

    def places() -> dict[str, list[str]]:
        roots = {"team": laptop.team, "own": laptop.own, "checkout": widgets / ".harness"}
        return {name: sorted(file.name for file in root.rglob("*.md")) for name, root in roots.items()}

    there = {"team": ["PLAN.md", "progress.md", "sqlite.md"], "own": [], "checkout": []}
    back = {"team": [], "own": ["sqlite.md"], "checkout": ["PLAN.md", "progress.md"]}
    ended = dict.fromkeys(("team", None), 0)
    for number in range(1, 40):
        if max(ended.values()) < number - 1:
            break  # the last round was not ended: it has fewer changes than that
        for name, expected in (("team", there), (None, back)):
            end_at(number)
            try:
                move(name)
            except Killed:
                ended[name] += 1
                end_at(0)
                move(name)
            end_at(0)
            assert places() == expected, f"ended before change {number} on the way to {name}"
    assert min(ended.values()) >= 8
    assert (widgets / ".harness" / "PLAN.md").read_text() == PLAN


# ------------------------------------------------------------------------------------------------ other remotes


MOVED = "git@example.com:ana/moved.git"


def set_remote(checkout: Path, remote: str) -> None:
    (checkout / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')


def recalled(laptop: Laptop, checkout: Path) -> str:
    return laptop.run(checkout, "recall-here").stdout


@pytest.mark.parametrize("meanwhile", [(), ("project", "register", "--adopt")], ids=["unknown", "adopted"])
def test_every_clone_of_a_project_finds_its_notes_in_the_other_store_whatever_its_remote_is(
    laptop: Laptop, widgets: Path, meanwhile: tuple[str, ...]
) -> None:
    clone = laptop.checkout("clone")
    set_remote(widgets, MOVED)
    if meanwhile:
        laptop.run(widgets, *meanwhile)
    laptop.run(widgets, *MOVE)
    assert "We use SQLite." in recalled(laptop, widgets)
    laptop.run(clone, "project", "use-store", "team")
    assert "We use SQLite." in recalled(laptop, clone)

    laptop.run(widgets, *BACK)
    laptop.run(clone, "project", "use-store", "default")
    assert [recalled(laptop, each).count("We use SQLite.") for each in (widgets, clone)] == [1, 1]


@pytest.mark.parametrize("meanwhile", [(), ("project", "register", "--adopt")], ids=["unknown", "adopted"])
def test_a_project_whose_remote_changed_joins_the_one_that_the_team_has_of_its_repository(
    laptop: Laptop, widgets: Path, tmp_path: Path, meanwhile: tuple[str, ...]
) -> None:
    ben = Laptop(tmp_path, "two", laptop.team)
    ben.add_team(make=False)
    theirs = ben.checkout("widgets")
    ben.run(theirs, "project", "use-store", "team")
    ben.save(theirs, "tea", "We drink tea.\n")
    set_remote(widgets, MOVED)
    if meanwhile:
        laptop.run(widgets, *meanwhile)
    laptop.run(widgets, *MOVE)
    for device, checkout in ((laptop, widgets), (ben, theirs)):
        said = recalled(device, checkout)
        assert "We use SQLite." in said
        assert "We drink tea." in said


def test_what_the_team_has_of_another_remote_of_the_project_stays_apart_and_is_named(
    laptop: Laptop, widgets: Path, tmp_path: Path
) -> None:
    ben = Laptop(tmp_path, "two", laptop.team)
    ben.add_team(make=False)
    ours, theirs = ben.checkout("widgets"), ben.checkout("moved", MOVED)
    for checkout in (ours, theirs):
        ben.run(checkout, "project", "use-store", "team")
        ben.save(checkout, "tea", f"We drink tea in {checkout.name}.\n")
    set_remote(widgets, MOVED)
    laptop.run(widgets, "project", "register", "--adopt")
    set_remote(widgets, ANA)

    said = laptop.run(widgets, *MOVE).stdout
    assert "example.com/ana/moved is 'moved' there: `agentm --store team project merge moved widgets`" in said
    assert "We use SQLite." in recalled(ben, ours)
    assert "We use SQLite." not in recalled(ben, theirs)
    laptop.run(widgets, "--store", "team", "project", "merge", "moved", "widgets")
    assert "We use SQLite." in recalled(ben, theirs)


def test_a_changed_remote_that_is_another_project_of_the_team_is_not_joined(
    laptop: Laptop, widgets: Path, tmp_path: Path
) -> None:
    """Nobody has said that both are one: it goes on being the project that it was."""
    ben = Laptop(tmp_path, "two", laptop.team)
    ben.add_team(make=False)
    theirs = ben.checkout("moved", MOVED)
    ben.run(theirs, "project", "use-store", "team")
    ben.save(theirs, "tea", "We drink tea.\n")
    set_remote(widgets, MOVED)
    laptop.run(widgets, *MOVE)
    assert "We use SQLite." not in recalled(ben, theirs)
    assert "We drink tea." not in recalled(laptop, widgets)
    assert "We use SQLite." in recalled(laptop, widgets)


# ------------------------------------------------------------------------------------------------ what waits


def accept_all(laptop: Laptop, checkout: Path) -> None:
    """What the operator does on the page, with every proposal that it shows."""
    from agentm_kernel.plugin import HookContext
    from agentm_recall import page_inbox

    context = HookContext(Device.now(laptop.environ), str(checkout))
    for block in page_inbox.show(context, {}):
        page_inbox.accept_shown(context, block["actions"][0]["fields"])


@pytest.mark.parametrize(
    "meanwhile", [("project", "rename", "widgets", "things"), MOVE], ids=["another name", "another store"]
)
def test_what_was_proposed_before_a_project_moved_is_accepted_where_it_is_read(
    laptop: Laptop, widgets: Path, meanwhile: tuple[str, ...]
) -> None:
    laptop.run(laptop.home, "config", "set", "capture.approve", "all")
    laptop.save(widgets, "tea", "We drink tea.\n")
    laptop.save(widgets, "sqlite", "We use SQLite 3.\n", "--update")
    laptop.run(widgets, *meanwhile)
    accept_all(laptop, widgets)
    assert "We drink tea." in laptop.run(widgets, "notes", "show", "tea").stdout
    assert "We use SQLite 3." in laptop.run(widgets, "notes", "show", "sqlite").stdout
    assert not list((laptop.own / "_inbox").glob("*.md"))
    assert not list((laptop.own / "projects" / "widgets").rglob("*.md"))
