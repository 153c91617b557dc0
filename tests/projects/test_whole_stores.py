"""Commands about a whole store: they mean the store of the project here, or the one that is named, and say which."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_checkpoint.tools import CHECKPOINT, RESTORE
from agentm_kernel.plugin import Device, ToolCall
from tests.projects.test_more_stores import Laptop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, "one", tmp_path / "team")


@pytest.fixture
def widgets(laptop: Laptop) -> Path:
    """A project in the team's store, a note in each store."""
    laptop.add_team(make=True)
    checkout = laptop.checkout("widgets")
    laptop.run(checkout, "project", "use-store", "team")
    laptop.save(checkout, "sqlite", "We use SQLite.\n")
    laptop.save(checkout, "tabs", "I want tabs.\n", "--personal")
    return checkout


def store_id(root: Path) -> str:
    return str(json.loads((root / "_meta" / "store.json").read_text())["id"])


def test_a_checkpoint_is_of_the_store_of_the_project_here(laptop: Laptop, widgets: Path) -> None:
    diary = laptop.checkout("diary", None)
    said = laptop.run(widgets, "checkpoint", "create").stderr
    assert said.startswith("store: team, of the project here")
    assert said.count("store: ") == 1
    said = laptop.run(diary, "checkpoint", "create").stderr
    assert said.startswith("store: default; for another (team) ")
    assert laptop.run(widgets, "--store", "default", "checkpoint", "list").stderr == "store: default\n"

    for words, root, name in (
        ((widgets, "checkpoint", "create"), laptop.team, "team"),
        ((diary, "checkpoint", "create"), laptop.own, "default"),
        ((widgets, "--store", "default", "checkpoint", "create"), laptop.own, "default"),
        ((widgets, "--store", "team", "checkpoint", "create"), laptop.team, "team"),
    ):
        taken = laptop.run(*words, "--json")
        answer = json.loads(taken.stdout)
        assert (answer["store"], answer["store_name"], taken.stderr) == (store_id(root), name, "")


def test_the_tools_of_agents_mean_the_same_store(laptop: Laptop, widgets: Path) -> None:
    call = ToolCall(Device.now(laptop.environ), (str(widgets),), "test", lambda *_: None)
    taken = CHECKPOINT.function(call, reason="before a rewrite")
    assert taken["store"] == str(laptop.team)
    (laptop.team / "projects/widgets/decisions/sqlite.md").unlink()
    planned = RESTORE.function(call, checkpoint=str(taken["checkpoint"]))
    assert planned["store"] == str(laptop.team)
    command = str(planned["operator_runs"]).split()
    assert command[:3] == ["agentm", "--store", "team"]
    laptop.run(laptop.home, *command[1:], "--yes")
    assert (laptop.team / "projects/widgets/decisions/sqlite.md").exists()

    elsewhere = ToolCall(call.device, (str(laptop.checkout("diary", None)),), "test", lambda *_: None)
    assert CHECKPOINT.function(elsewhere, reason="again")["store"] == str(laptop.own)


def test_what_a_checkpoint_offers_next_names_its_store(laptop: Laptop, widgets: Path) -> None:
    laptop.run(widgets, "checkpoint", "create")
    (laptop.team / "projects/widgets/decisions/sqlite.md").unlink()
    restored = laptop.run(widgets, "checkpoint", "restore", "latest", "--yes").stdout
    assert "back again: `agentm --store team checkpoint restore" in restored


@pytest.mark.parametrize("form", ["markdown", "okf"])
def test_an_export_holds_the_store_of_the_project_here(
    laptop: Laptop, widgets: Path, tmp_path: Path, form: str
) -> None:
    def exported(*words: str) -> tuple[str, str]:
        folder = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        done = laptop.run(widgets, *words, "export", form, str(folder))
        return " ".join(file.name for file in folder.rglob("*.md")), done.stderr

    names, said = exported()
    assert "sqlite.md" in names
    assert "tabs.md" not in names
    assert "store: team" in said
    names, said = exported("--store", "default")
    assert "tabs.md" in names
    assert "sqlite.md" not in names
    assert "store: default" in said

    folder = tmp_path / "named-by-its-own-option"
    answer = json.loads(laptop.run(widgets, "export", form, str(folder), "--store", "default", "--json").stdout)
    assert answer["store"] == str(laptop.own)
    assert list(folder.rglob("tabs.md"))


def test_the_page_as_files_shows_the_store_of_the_project_here(laptop: Laptop, widgets: Path, tmp_path: Path) -> None:
    laptop.run(widgets, "view", "--export", str(tmp_path / "page"))
    today = (tmp_path / "page" / "index.html").read_text()
    assert "1 note" in today
    assert "agentm --store default view" in today
    said = laptop.run(widgets, "--store", "default", "view", "--export", str(tmp_path / "own")).stderr
    assert "store: default" in said
    assert "agentm --store team view" in (tmp_path / "own" / "index.html").read_text()


def test_git_works_with_the_clone_of_the_project_here(laptop: Laptop) -> None:
    origin, clone = laptop.home / "team.git", laptop.home / "clone"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True, env=laptop.environ)
    laptop.run(laptop.home, "git", "init", str(clone), f"file://{origin}")
    laptop.run(laptop.home, "store", "add", "team", "git", f"root={clone}", f"remote=file://{origin}")
    widgets, diary = laptop.checkout("widgets"), laptop.checkout("diary", None)
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")

    answer = json.loads(laptop.run(widgets, "git", "sync", "--json").stdout)
    assert (answer["store"], answer["pushed"]["changed"]) == (str(clone), True)
    assert "everything is committed" in laptop.run(widgets, "git", "status").stdout
    refused = laptop.run(diary, "git", "status", ok=False)
    assert refused.returncode == 1
    assert "the default store, " in refused.stderr
    assert "is not a clone" in refused.stderr
    assert "hint: the store 'team' is one: put `--store team` before the command" in refused.stderr
    assert laptop.run(diary, "--store", "team", "git", "status").stdout.startswith(str(clone))


def test_projects_are_those_of_the_store_of_the_project_here(laptop: Laptop, widgets: Path) -> None:
    laptop.run(widgets, "project", "register")
    listed = laptop.run(widgets, "project", "list")
    assert "widgets" in listed.stdout
    assert "store: team" in listed.stderr
    laptop.run(widgets, "project", "unregister")
    laptop.run(widgets, "project", "rename", "widgets", "gadgets")
    assert (laptop.team / "projects/gadgets/decisions/sqlite.md").exists()


def test_doctor_asks_plugins_about_the_store_of_the_project_here_too(laptop: Laptop, widgets: Path) -> None:
    def rows(cwd: Path) -> dict[str, str]:
        shown = json.loads(laptop.run(cwd, "doctor", "--json").stdout)["rows"]
        assert len(shown) == len({tuple(row.values()) for row in shown})
        return {row["check"]: row["message"] for row in shown}

    laptop.run(widgets, "checkpoint", "create")
    found = rows(widgets)
    assert found["checkpoints"].startswith("none yet")
    assert found["checkpoints of team"].startswith("1 in ")
    assert not any(check.endswith(" of team") for check in rows(laptop.checkout("diary", None)))


def test_the_index_is_that_of_the_store_of_the_project_here(laptop: Laptop, widgets: Path) -> None:
    assert "store: team" in laptop.run(widgets, "reindex").stderr
    assert "store: team" not in laptop.run(widgets, "--store", "default", "reindex").stderr


def test_a_device_with_one_store_hears_nothing_of_stores(laptop: Laptop) -> None:
    diary = laptop.checkout("diary", None)
    laptop.save(diary, "mine", "My own.\n")
    for words in (("checkpoint", "create"), ("project", "list"), ("export", "markdown", str(laptop.home / "out"))):
        assert laptop.run(diary, *words).stderr == ""


def test_the_name_of_a_store_stands_before_the_command(laptop: Laptop, widgets: Path) -> None:
    refused = laptop.run(widgets, "checkpoint", "create", "--store", "team", ok=False)
    assert refused.returncode == 2
    assert "hint: it stands before the command: `agentm --store NAME checkpoint create`" in refused.stderr
