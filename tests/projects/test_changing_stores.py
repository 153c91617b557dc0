"""`agentm project use-store --move`: plans go where state belongs, and what will happen is said before it does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import Device, FileStore
from tests.projects.test_more_stores import Laptop

if TYPE_CHECKING:
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
    assert "PLAN.md, progress.md: from .harness/ into the store" in moved.stderr
    assert "3 files were copied" in moved.stdout
    assert (in_store(laptop) / "PLAN.md").read_text() == PLAN
    assert laptop.run(widgets, "state", "read", "PLAN.md").stdout == PLAN
    assert sorted(file.name for file in (widgets / ".harness").iterdir()) == [".gitignore", "features.json"]

    (widgets / ".harness" / ".gitignore").unlink()
    laptop.run(widgets, "state", "append", "progress.md", text="done\n")
    back = laptop.run(widgets, *BACK)
    assert "PLAN.md, progress.md: from the store into .harness/" in back.stderr
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
    assert "its name there is 'ana-widgets': 'widgets' is another project's" in refused.stderr
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
    assert "--yes is not given" in refused.stderr
    assert files() == before
