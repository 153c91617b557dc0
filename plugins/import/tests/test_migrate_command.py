"""What `agentm migrate` refuses, asks and says, in this process: how notes are moved is the matter of others."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner
from import_home import Home

from agentm_import.moving import command_migrate, projects
from agentm_import.moving.command_migrate import command
from agentm_import.moving.merging import plan_merge
from agentm_import.moving.stores import texts_below
from agentm_kernel.plugin import (
    AgentmError,
    Capabilities,
    ConcurrentModificationError,
    FileStore,
    Locator,
    LocatorConflictError,
    MirroredState,
    StorageError,
    StorageSelectionError,
    stamp_store,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result


class Laptop:
    """A home with notes in the default store, and a vault that they may go to."""

    def __init__(self, home: Home) -> None:
        self.home, self.vault = home, home.path / "Vault"
        (self.vault / ".obsidian").mkdir(parents=True)
        self.config = home.path / ".config" / "agentm" / ".agentm-config.json"
        self.config.parent.mkdir(parents=True)
        chosen = {"storage": {"backend": "device-local"}, "plugins": {"vault": {"vault_path": str(self.vault)}}}
        self.config.write_text(json.dumps(chosen))
        self.store = home.device().store(read_only=False)
        self.write("personal/facts/tea.md", "Tea.\n")

    def write(self, key: str, text: str) -> None:
        self.store.write(Locator(key), text)

    def migrate(self, *arguments: str) -> Result:
        given = ("--to", "vault", *arguments)
        return CliRunner().invoke(command, given, obj=self.home.device(), standalone_mode=False)

    def selected(self) -> str | None:
        found: str | None = json.loads(self.config.read_text()).get("storage", {}).get("backend")
        return found


@pytest.fixture
def laptop(home: Home) -> Laptop:
    return Laptop(home)


def test_everything_goes_over_and_the_other_store_is_selected(laptop: Laptop) -> None:
    laptop.write("personal/facts/port.md", "8080\n")
    done = laptop.migrate("--yes")
    assert done.exception is None, done.exception
    first, last = done.stdout.splitlines()
    assert first.startswith("copied 2 of ")
    assert first.endswith(" from device-local to vault; there already: 0")
    assert last == "selected store: vault (back again: `agentm migrate --to device-local`)"
    assert laptop.selected() == "vault"
    assert (laptop.vault / "personal/facts/tea.md").read_text() == "Tea.\n"


class Elsewhere(FileStore):
    """Stands for a store that devices share, of which each has a copy."""

    capabilities = Capabilities(concurrent_writers=True, sync=True, delete=True)  # type: ignore[assignment]


def test_what_an_agent_has_just_edited_in_the_copy_of_a_store_elsewhere_goes_over_too(
    laptop: Laptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    plan = Locator("projects/widgets/_harness/PLAN.md")
    source = MirroredState(Elsewhere(tmp_path / "elsewhere"), str(tmp_path / "mirror"))
    stamp_store(source)
    source.write(plan, "the plan\n")
    with open(source.device_path(plan), "w") as file:
        file.write("the plan, edited as a file\n")
    others = {"vault": command_migrate.open_other(laptop.home.device(), "vault"), "elsewhere": source}
    monkeypatch.setattr(command_migrate, "open_other", lambda _device, name: others[name])

    assert laptop.migrate("--from", "elsewhere", "--dry-run").exception is None
    assert source.read(plan) == "the plan\n"  # nothing is done
    done = laptop.migrate("--from", "elsewhere", "--yes")

    assert done.exception is None, done.exception
    assert (laptop.vault / plan.key).read_text() == "the plan, edited as a file\n"


def test_what_would_be_done_is_said_and_not_done(laptop: Laptop) -> None:
    done = laptop.migrate("--dry-run")
    assert done.stdout == "would copy 1 of 1 file from device-local to vault; there already: 0\n"
    answer = json.loads(laptop.migrate("--dry-run", "--json").stdout)
    assert {name: answer[name] for name in ("source", "target", "notes", "copied", "dry_run")} == {
        "source": "device-local",
        "target": "vault",
        "notes": 1,
        "copied": 1,
        "dry_run": True,
    }
    assert (answer["skipped"], answer["apart"], answer["united"], answer["unread_plans"]) == ([], {}, [], [])
    assert laptop.selected() == "device-local"
    assert not (laptop.vault / "personal").exists()


def test_a_person_is_asked_before_anything_is_copied(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool, str]] = []

    def confirm(question: str, *, yes: bool, hint: str) -> None:
        asked.append((question, yes, hint))
        raise click.Abort

    monkeypatch.setattr(command_migrate, "confirm", confirm)
    laptop.migrate()
    ((question, yes, hint),) = asked
    assert question.startswith("Copy 1 of 1 file to ")
    assert question.endswith(f"{laptop.vault}?")
    assert (yes, hint) == (False, "add --dry-run to see what it would do, or --yes to do it without asking")
    assert laptop.selected() == "device-local"
    assert not (laptop.vault / "personal").exists()


def test_keeping_apart_is_for_merges(laptop: Laptop) -> None:
    refused = laptop.migrate("--keep-apart").exception
    assert isinstance(refused, click.UsageError)
    assert refused.message == "--keep-apart goes with --merge"


def test_the_store_that_is_selected_is_no_place_to_go_to(laptop: Laptop) -> None:
    refused = laptop.migrate("--to", "device-local").exception
    assert isinstance(refused, StorageSelectionError)
    assert refused.message == "'device-local' is the selected store already"
    same = laptop.migrate("--from", "vault").exception
    assert isinstance(same, StorageSelectionError)


def test_what_is_no_note_is_named_and_stays_unless_that_is_allowed(laptop: Laptop) -> None:
    folder = laptop.home.root / "personal" / "facts"
    for number in range(6):
        (folder / f"picture-{number}.md").write_bytes(b"\xff")
    refused = laptop.migrate("--yes").exception
    assert isinstance(refused, AgentmError)
    listed = ", ".join(f"personal/facts/picture-{number}.md" for number in range(5))
    assert refused.message == f"what is not a note would stay behind: {listed} and 1 more"
    (folder / "picture-5.md").unlink()
    refused = laptop.migrate("--yes").exception
    assert isinstance(refused, AgentmError)
    assert refused.message == f"what is not a note would stay behind: {listed}"
    assert "`agentm migrate --from device-local --to vault --allow-skipped`" in str(refused.hint)
    assert laptop.selected() == "device-local"
    done = laptop.migrate("--yes", "--allow-skipped")
    assert done.stdout.count("not a note, left behind: personal/facts/picture-") == 5
    assert laptop.selected() == "vault"


def test_a_merge_says_what_was_kept_apart_and_which_projects_are_one(laptop: Laptop) -> None:
    record = {"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}
    laptop.write("projects/widgets/_project.json", json.dumps(record))
    there = FileStore(str(laptop.vault))
    there.write(Locator("personal/facts/tea.md"), "Tea in the vault.\n")
    there.write(Locator("projects/widgets/_project.json"), json.dumps({**record, "remotes": ["example.com/bob/w"]}))
    refused = laptop.migrate("--yes", "--merge").exception
    assert isinstance(refused, LocatorConflictError)
    done = laptop.migrate("--yes", "--merge", "--keep-apart")
    assert done.exception is None, done.exception
    assert "kept apart: personal/facts/tea.md as tea-from-device-local.md\n" in done.stdout
    assert "in both stores, one project now: widgets\n" in done.stdout
    assert (laptop.vault / "personal/facts/tea-from-device-local.md").read_text() == "Tea.\n"
    assert "example.com/ana/widgets" in there.read(Locator("projects/widgets/_project.json"))


def test_a_record_that_leads_nowhere_is_another_project(tmp_path: Path) -> None:
    stores = [FileStore(str(tmp_path / name), create_root=True) for name in ("one", "two")]
    place = Locator("projects/widgets/_project.json")
    sound = {"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}
    for record, store in zip((sound, {**sound, "remotes": [], "moved_to": "gone"}), stores, strict=True):
        store.write(place, json.dumps(record))
    for source, target in (stores, stores[::-1]):
        with pytest.raises(LocatorConflictError, match="there are two different projects of the name 'widgets'"):
            plan_merge(source, target, lambda _, items: items, "old", keep_apart=True)


def test_a_store_inside_of_the_other_is_not_merged_with_it(tmp_path: Path) -> None:
    outer, inner = (FileStore(str(tmp_path / name), create_root=True) for name in ("one", "one/two"))
    for source, target in ((outer, inner), (inner, outer)):
        with pytest.raises(LocatorConflictError, match=f"the store {tmp_path}/one/two lies inside the store"):
            plan_merge(source, target, lambda _, items: items, "old", keep_apart=True)
    beside = FileStore(str(tmp_path / "one-more"), create_root=True)
    assert plan_merge(outer, beside, lambda _, items: items, "old", keep_apart=True).hashes == {}


def test_only_markdown_can_hide_a_note(tmp_path: Path) -> None:
    store = FileStore(str(tmp_path / "store"), create_root=True)
    for key in ("a/b.md", "a/c.json", "d.md"):
        store.write(Locator(key), key)
    (tmp_path / "store" / "a" / "odd.md").write_bytes(b"\xff")
    assert texts_below(store, Locator("a")) == {Locator("a/b.md"): "a/b.md"}


def test_a_note_for_which_every_name_is_taken_is_not_lost_in_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(FileStore):
        def write(self, locator: Locator, content: str, **condition: Any) -> Locator:
            if locator.key.startswith("projects/two/facts"):
                raise ConcurrentModificationError("somebody was faster")
            return super().write(locator, content, **condition)

        def read(self, locator: Locator) -> str:
            return "theirs\n" if locator.key.startswith("projects/two/facts") else super().read(locator)

    store = Full(str(tmp_path / "store"), create_root=True)
    for number, name in enumerate(("one", "two")):
        record = {"version": 1, "id": str(number), "remotes": [f"example.com/ana/{name}"]}
        store.write(Locator(f"projects/{name}/_project.json"), json.dumps(record))
    mine = Locator("projects/one/facts/tea.md")
    store.write(mine, "mine\n")
    with pytest.raises(StorageError, match=r"there is no free name beside 'projects/two/facts/tea\.md'"):
        projects.merge_projects(store, "one", "two")
    assert store.read(mine) == "mine\n"


class Terminal(SimpleNamespace):
    """Standard error before which a person sits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_person", [True, False])
def test_a_bar_is_for_a_person_who_waits(is_person: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Bar:
        def __init__(self, items: list[Any], *, label: str, file: object) -> None:
            shown.append(label)
            self.items = items

        def __enter__(self) -> Iterator[Any]:
            return iter(self.items)

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr(command_migrate.click, "progressbar", Bar)
    monkeypatch.setattr(
        command_migrate, "sys", SimpleNamespace(stderr=Terminal() if is_person else SimpleNamespace(isatty=bool))
    )
    items = [Locator("a.md"), Locator("b.md")]
    assert list(command_migrate._bar("Copying", items)) == items
    assert shown == (["Copying"] if is_person else [])
