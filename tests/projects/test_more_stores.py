"""More than one store on a device: mine and the team's. A project's notes are where the operator said, or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import Device, FileStore
from agentm_recall.inbox import accept, pending, placed

if TYPE_CHECKING:
    from pathlib import Path

ANA = "git@example.com:ana/widgets.git"


class Laptop:
    """A device whose own store is device-local, beside a folder that a team shares."""

    def __init__(self, folder: Path, name: str, team: Path) -> None:
        self.home = folder / name
        self.home.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.team = team
        self.own = self.home / ".agentm" / "memory"

    def checkout(self, name: str, remote: str | None = ANA) -> Path:
        root = self.home / name
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n' if remote else "")
        return root

    def run(self, cwd: Path, *arguments: str, text: str = "", ok: bool = True) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments]
        done = subprocess.run(
            command, cwd=cwd, env=self.environ, input=text, capture_output=True, text=True, timeout=60, check=False
        )
        assert not ok or done.returncode == 0, done.stderr
        return done

    def add_team(self, *, make: bool) -> None:
        if make:
            self.run(self.home, "vault", "init", str(self.team), "--create")
        self.run(self.home, "store", "add", "team", "vault", f"vault_path={self.team}")

    def save(self, cwd: Path, slug: str, text: str, *words: str) -> None:
        self.run(cwd, "save", "--kind", "decision", "--slug", slug, *words, text=text)


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, "one", tmp_path / "team")


def keys(root: Path, below: str = "projects") -> list[str]:
    store = FileStore(root)
    return [
        info.locator.key for info in store.walk(Locator(below)) if not info.is_dir and info.locator.suffix == ".md"
    ]


def test_a_bound_project_is_in_its_store_and_others_in_the_default_one(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets, diary = laptop.checkout("widgets"), laptop.checkout("diary", None)
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.save(diary, "mine", "I am looking for another job.\n")
    laptop.run(widgets, "state", "write", "PLAN.md", text="# Plan\n")

    assert keys(laptop.team) == ["projects/widgets/_harness/PLAN.md", "projects/widgets/decisions/sqlite.md"]
    assert keys(laptop.own) == ["projects/diary/decisions/mine.md"]
    assert "We use SQLite." in laptop.run(widgets, "recall-here").stdout
    assert "SQLite" not in laptop.run(diary, "recall-here").stdout
    shown = json.loads(laptop.run(widgets, "project", "show", "--json").stdout)
    assert shown["store"] == str(laptop.team)


def test_the_binding_is_on_this_device_and_not_in_the_repository(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    assert not (widgets / ".harness").exists()
    assert Device.now(laptop.environ).config.bindings == {"example.com/ana/widgets": "team"}


def test_notes_that_are_there_already_are_moved_or_nothing_is_done(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    for number in range(5):
        laptop.save(widgets, f"note-{number}", f"Decision {number}.\n")

    refused = laptop.run(widgets, "project", "use-store", "team", ok=False)
    assert refused.returncode == 1
    assert "add --move" in refused.stderr
    assert Device.now(laptop.environ).config.bindings == {}

    laptop.run(widgets, "project", "use-store", "team", "--move", "--yes")
    assert keys(laptop.team) == [f"projects/widgets/decisions/note-{number}.md" for number in range(5)]
    assert keys(laptop.own) == []
    assert "Decision 3." in laptop.run(widgets, "recall-here").stdout


def test_a_move_that_was_cut_off_is_finished_by_running_it_again(laptop: Laptop, monkeypatch) -> None:
    from agentm_import.moving import use_store

    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    for number in range(4):
        laptop.save(widgets, f"note-{number}", f"Decision {number}.\n")

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    for place, step in ((use_store, "change_record"), (use_store.Move, "goes_to")):
        change = use_store.StoreChange(Device.now(laptop.environ), str(widgets), "team")
        change.check(move=True)
        with monkeypatch.context() as patched:
            patched.setattr(place, step, cut_off)
            with pytest.raises(KeyboardInterrupt):
                change.make()
    laptop.run(widgets, "project", "use-store", "team", "--move", "--yes")
    assert len(keys(laptop.team)) == 4
    assert keys(laptop.own) == []


def test_another_text_under_a_name_is_never_written_over(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    FileStore(laptop.team).write(
        Locator("projects/widgets/_project.json"),
        '{"version": 1, "id": "7", "remotes": ["example.com/ana/widgets"]}\n',
    )
    FileStore(laptop.team).write(Locator("projects/widgets/decisions/sqlite.md"), "We use PostgreSQL.\n")

    refused = laptop.run(widgets, "project", "use-store", "team", "--move", "--yes", ok=False)
    assert refused.returncode == 1
    assert "nothing was written" in refused.stderr
    assert "PostgreSQL" in (laptop.team / "projects/widgets/decisions/sqlite.md").read_text()
    assert Device.now(laptop.environ).config.bindings == {}


def test_a_device_without_the_binding_is_refused_and_never_routed_to_the_default_store(tmp_path: Path) -> None:
    """Both laptops have one vault as their default store; the first has moved a project to the team's."""
    shared, team = tmp_path / "shared", tmp_path / "team"
    one, two = Laptop(tmp_path, "one", team), Laptop(tmp_path, "two", team)
    one.run(one.home, "vault", "init", str(shared), "--create", "--use")
    two.run(two.home, "vault", "init", str(shared), "--use")
    one.add_team(make=True)
    mine, theirs = one.checkout("widgets"), two.checkout("widgets")
    one.save(mine, "sqlite", "We use SQLite.\n")
    one.run(mine, "project", "use-store", "team", "--move", "--yes")

    for command in (("save", "--kind", "fact", "--slug", "x"), ("state", "write", "PLAN.md"), ("state-path", "plan")):
        refused = two.run(theirs, *command, text="text\n", ok=False)
        assert refused.returncode == 1
        assert "are in another store" in refused.stderr
        assert "agentm store add" in refused.stderr
    assert keys(shared) == []

    two.add_team(make=False)
    two.run(theirs, "project", "use-store", "team")
    assert "We use SQLite." in two.run(theirs, "recall-here").stdout


def test_a_project_comes_back_to_the_default_store(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.run(widgets, "project", "use-store", "team", "--move", "--yes")
    laptop.run(widgets, "project", "use-store", "default", "--move", "--yes")
    assert keys(laptop.own) == ["projects/widgets/decisions/sqlite.md"]
    assert keys(laptop.team) == []
    assert "We use SQLite." in laptop.run(widgets, "recall-here").stdout


def test_a_store_that_cannot_be_had_is_named_and_costs_only_its_projects(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets, diary = laptop.checkout("widgets"), laptop.checkout("diary", None)
    laptop.run(widgets, "project", "use-store", "team")
    laptop.team.rename(laptop.team.with_name("unmounted"))
    refused = laptop.run(widgets, "save", "--kind", "fact", "--slug", "x", text="text\n", ok=False)
    assert refused.returncode == 1
    assert "the store 'team' cannot be had" in refused.stderr
    assert "`agentm config set stores.team.vault_path PATH`" in refused.stderr
    laptop.save(diary, "mine", "My own.\n")
    rows = {row["name"]: row for row in json.loads(laptop.run(diary, "store", "list", "--json").stdout)["stores"]}
    assert (rows["default"]["status"], rows["team"]["status"]) == ("ok", "refused")


def test_what_is_mine_stays_in_my_store_and_is_recalled_in_every_project(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.save(widgets, "tabs", "I want tabs.\n", "--personal")
    laptop.run(widgets, "save", "--kind", "always-load", "--slug", "terse", text="Answer tersely.\n")

    assert not any(b"tabs" in file.read_bytes() for file in laptop.team.rglob("*") if file.is_file())
    assert len(keys(laptop.own, "personal")) == 2
    for told in (laptop.run(widgets, "recall-here").stdout, laptop.run(widgets, "hook", "session-start").stdout):
        assert "I want tabs." in told
        assert "Answer tersely." in told
        assert "We use SQLite." in told

    laptop.team.rename(laptop.team.with_name("unmounted"))
    told = laptop.run(widgets, "recall-here").stdout
    assert "I want tabs." in told
    assert "the store 'team' cannot be had" in told


@pytest.mark.parametrize("mode", ["backend", "local"])
def test_a_session_is_told_that_a_store_cannot_be_read_and_never_that_nothing_is_left_out(
    laptop: Laptop, mode: str
) -> None:
    """An error is never absence: the agent must not take the rest for all that there is."""
    laptop.add_team(make=True)
    laptop.run(laptop.home, "config", "set", "state_mode", mode)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.save(widgets, "tabs", "I want tabs.\n", "--personal")
    laptop.team.rename(laptop.team.with_name("unmounted"))
    lost = "are not available: the store 'team' cannot be had: "
    told = {
        "session": laptop.run(widgets, "hook", "session-start").stdout,
        "host": json.loads(laptop.run(widgets, "hook", "session-start", "--host", "claude-code", text="{}").stdout)[
            "hookSpecificOutput"
        ]["additionalContext"],
        "recall": laptop.run(widgets, "recall-here").stdout,
    }
    for text in told.values():
        assert "I want tabs." in text
        assert "Left out of your own notes: nothing." in text
        assert "Left out: nothing." not in text
        line = next(line for line in text.splitlines() if lost in line)
        assert "otes" in line.partition(lost)[0]
        assert "agentm config set stores.team.vault_path PATH" in line


def test_a_search_that_could_not_look_everywhere_does_not_say_that_there_is_nothing(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.save(widgets, "tabs", "I want tabs.\n", "--personal")
    laptop.team.rename(laptop.team.with_name("unmounted"))

    own = laptop.run(widgets, "search", "tabs")
    assert "I want tabs." in own.stdout
    assert "the store 'team' cannot be had" in own.stderr
    nothing = laptop.run(widgets, "search", "SQLite", ok=False)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("error: the store 'team' cannot be had")


def test_events_reach_the_store_that_the_project_is_bound_to(laptop: Laptop) -> None:
    """A team's git store is synchronised by hooks, although the default store is another."""
    origin, clone = laptop.home / "team.git", laptop.home / "clone"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True, env=laptop.environ)
    laptop.run(laptop.home, "git", "init", str(clone), f"file://{origin}")
    laptop.run(laptop.home, "store", "add", "team", "git", f"root={clone}", f"remote=file://{origin}")
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "sqlite", "We use SQLite.\n")
    laptop.run(widgets, "event", "turn-end")
    pushed = subprocess.run(
        ["git", "-C", str(origin), "log", "--all", "--name-only", "--format="],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "projects/widgets/decisions/sqlite.md" in pushed.stdout


def test_a_clone_that_is_there_is_added_with_its_origin(laptop: Laptop) -> None:
    """Without one, its history would stay on this device, and nobody of the team would get a note."""
    origin, clone = laptop.home / "team.git", laptop.home / "clone"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True, env=laptop.environ)
    laptop.run(laptop.home, "git", "init", str(clone), f"file://{origin}")
    added = laptop.run(laptop.home, "store", "add", "team", "git", f"root={clone}")
    assert f"remote is file://{origin}, as what is there has it" in added.stdout
    team = Device.now(laptop.environ).config.for_store("team").options("git")
    assert team["remote"] == f"file://{origin}"
    assert "no origin" not in laptop.run(laptop.home, "--store", "team", "git", "status").stdout
    laptop.run(laptop.home, "store", "remove", "team")
    laptop.run(laptop.home, "store", "add", "alone", "git", f"root={clone}", "remote=")
    assert Device.now(laptop.environ).config.for_store("alone").options("git")["remote"] == ""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("team", "nothing-like-it"), "no installed plugin provides the backend 'nothing-like-it'"),
        (("team", "vault", "vault_path"), "is not an option with its value"),
        (("team", "vault", "valt_path=~/x"), "has no option 'valt_path'"),
        (("team", "vault", "vault_path=/nowhere/at/all"), "the store 'team' cannot be had"),
        (("default", "vault"), "there is a store called 'default' already"),
        (("te am", "vault"), "cannot be the name of a store"),
    ],
)
def test_a_store_that_would_not_work_is_not_added(laptop: Laptop, words: tuple[str, ...], reason: str) -> None:
    refused = laptop.run(laptop.home, "store", "add", *words, ok=False)
    assert refused.returncode == 1
    assert reason in refused.stderr
    assert Device.now(laptop.environ).config.stores == ()


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("stores.team.valt_path", "~/x", "stores.team has no option 'valt_path'"),
        ("stores.tame.vault_path", "~/x", "there is no store called 'tame'"),
    ],
)
def test_an_option_of_a_further_store_is_checked_when_it_is_set(
    laptop: Laptop, key: str, value: str, reason: str
) -> None:
    laptop.add_team(make=True)
    before = laptop.run(laptop.home, "config", "list").stdout
    refused = laptop.run(laptop.home, "config", "set", key, value, ok=False)
    assert refused.returncode == 1
    assert reason in refused.stderr
    assert "hint: " in refused.stderr
    assert laptop.run(laptop.home, "config", "list").stdout == before
    known = laptop.run(laptop.home, "config", "set", "stores.team.nothing", "x", ok=False).stderr
    assert "hint: there are backend, wrappers, vault_path, " in known


def test_the_layers_of_a_further_store_are_names_and_none_is_skipped(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    said = laptop.run(laptop.home, "config", "set", "stores.team.wrappers", "no-such-layer")
    assert "no installed plugin provides the wrapper 'no-such-layer'" in said.stderr
    shown = laptop.run(laptop.home, "store", "show", "team", ok=False)
    assert "the wrapper 'no-such-layer' is configured" in shown.stderr

    file = laptop.home / ".config" / "agentm" / ".agentm-config.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "stores.team.wrappers": "encryption"}))
    shown = laptop.run(laptop.home, "store", "show", "team", ok=False)
    assert shown.returncode == 1
    assert "'stores.team.wrappers' is 'encryption', not a list of names" in shown.stderr


def test_a_store_with_projects_is_not_removed(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    refused = laptop.run(widgets, "store", "remove", "team", ok=False)
    assert "'team' is the store of 1 project: example.com/ana/widgets" in refused.stderr
    laptop.run(widgets, "project", "use-store", "default")
    laptop.run(widgets, "store", "remove", "team")
    assert Device.now(laptop.environ).config.stores == ()


def test_the_variable_of_the_default_vault_does_not_reach_a_further_one(laptop: Laptop, tmp_path: Path) -> None:
    laptop.add_team(make=True)
    laptop.run(laptop.home, "vault", "init", str(tmp_path / "mine"), "--create")
    laptop.environ["MEMORY_VAULT_PATH"] = str(tmp_path / "mine")
    stores = json.loads(laptop.run(laptop.home, "store", "list", "--json").stdout)["stores"]
    assert [row["place"] for row in stores] == [str(tmp_path / "mine"), str(laptop.team)]


@pytest.mark.parametrize("protocol", ["git", "vault"])
def test_a_store_that_is_added_without_its_place_is_not_looked_for_in_the_checkout(
    laptop: Laptop, protocol: str
) -> None:
    checkout = laptop.checkout("widgets")
    refused = laptop.run(checkout, "store", "add", "team", protocol, ok=False)
    assert refused.returncode == 1
    assert f"hint: run `agentm {protocol} init PATH" in refused.stderr


def test_a_project_without_a_remote_is_found_by_its_name_in_the_store_that_it_went_to(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets", None)
    laptop.save(widgets, "db", "We use SQLite.\n")
    laptop.run(widgets, "config", "set", "capture.approve", "all")
    laptop.save(widgets, "port", "It is 8080.\n")
    laptop.run(widgets, "project", "use-store", "team", "--move", "--yes")

    assert "projects/widgets/decisions/db" in laptop.run(laptop.home, "notes", "list", "--project", "widgets").stdout
    device = Device.now(laptop.environ)
    own = device.store(read_only=False)
    (waiting,) = pending(own)
    store, proposal = placed(device, own, waiting)
    assert accept(own, proposal, store) == [Locator("projects/widgets/decisions/port.md")]
    assert keys(laptop.team) == ["projects/widgets/decisions/db.md", "projects/widgets/decisions/port.md"]


def test_a_bound_project_whose_remote_was_renamed_is_refused_until_it_is_bound_again(laptop: Laptop) -> None:
    laptop.add_team(make=True)
    widgets = laptop.checkout("widgets")
    laptop.run(widgets, "project", "use-store", "team")
    laptop.save(widgets, "db", "We use SQLite.\n")
    (widgets / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/gadgets.git\n')

    refused = laptop.run(widgets, "notes", "list", ok=False)
    assert refused.returncode == 1
    assert "run `agentm project use-store NAME` here" in refused.stderr

    laptop.run(widgets, "project", "use-store", "team")
    assert "We use SQLite." in laptop.run(widgets, "notes", "show", "db").stdout
    laptop.save(widgets, "port", "It is 8080.\n")
    assert keys(laptop.team) == ["projects/widgets/decisions/db.md", "projects/widgets/decisions/port.md"]
