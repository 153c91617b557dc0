"""Setting a vault up: once per store, by the operator, and never over something that is there."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Device


def stamp_of(folder: Path) -> str:
    found: str = json.loads((folder / "_meta" / "store.json").read_text())["id"]
    return found


def hinted(said: str) -> list[str]:
    """The words of the command that a hint has, as a shell would read them."""
    return shlex.split(said.partition("`agentm ")[2].partition("`")[0])


def test_init_makes_and_marks_the_folder_and_says_what_to_run(device: Device) -> None:
    folder = device.home / "My Notes"
    shown = device.agentm("vault", "init", "--create", "~/My Notes").stdout
    assert stamp_of(folder) in shown
    (line,) = (line.strip() for line in shown.splitlines() if line.startswith("  "))
    assert line == f"agentm store add NAME vault vault_path='{folder}'"
    assert "vault" not in device.agentm("config", "list").stdout.replace("obsidian-vault", "")
    device.agentm("vault", "init", "~/My Notes", "--use")
    assert f"backend 'vault' at {folder}" in device.agentm("doctor").stdout


def test_use_selects_it_at_once(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    assert f"backend 'vault' at {device.home / 'notes'}" in device.agentm("doctor").stdout


def test_use_replaces_what_an_older_install_had(device: Device) -> None:
    device.agentm("config", "set", "plugins.obsidian-vault.vault_path", str(device.home))
    device.agentm("config", "set", "plugins.obsidian-vault.memory_root", "Agent/memory")
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    assert f"backend 'vault' at {device.home / 'notes'}, " in device.agentm("doctor").stdout


def test_use_says_when_the_environment_overrules_it(device: Device) -> None:
    device.environ["MEMORY_VAULT_PATH"] = "/elsewhere"
    done = device.agentm("vault", "init", "--create", "~/notes", "--use", code=1)
    assert "unset $MEMORY_VAULT_PATH" in done.stderr
    assert "vault_path" not in device.agentm("config", "list").stdout


def test_list_says_what_an_option_means_and_set_refuses_one_that_there_is_not(device: Device) -> None:
    device.agentm("config", "set", "plugins.vault.devices", "big-box, small-box")
    shown = device.agentm("config", "list").stdout
    assert "plugins.vault.devices  big-box, small-box" in shown
    assert "computers whose names stand in conflict copies" in shown
    listed = json.loads(device.agentm("config", "list", "--json").stdout)
    assert listed["meanings"] == {"plugins.vault.devices": "computers whose names stand in conflict copies"}
    refused = device.agentm("config", "set", "plugins.vault.device", "x", code=1)
    assert "plugins.vault has no option 'device'" in refused.stderr
    assert "is a number" in device.agentm("config", "set", "plugins.vault.size_limit", "big", code=1).stderr


def test_init_twice_is_init_once(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes")
    before = stamp_of(device.home / "notes")
    assert f"joined the store {before}" in device.agentm("vault", "init", "--create", "~/notes").stdout
    assert stamp_of(device.home / "notes") == before


def test_a_store_that_is_used_already_needs_nothing_more(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    assert device.agentm("vault", "init", "--create", "~/notes").stdout.endswith("\nthis device uses it already\n")


def test_whoever_has_notes_in_another_store_is_told_how_to_take_them_along(device: Device) -> None:
    pytest.importorskip("agentm_import", reason="`agentm migrate` is its command")
    device.agentm("project", "register", "--slug", "widgets", cwd=device.project)
    shown = device.agentm("vault", "init", "--create", "~/notes", "--use").stdout
    assert f"stay at {device.home / '.agentm' / 'memory'}\n" in shown
    command = shown.splitlines()[-1].partition("to take them along: agentm ")[2]
    device.agentm(*command.split(), "--yes")
    assert "widgets" in (device.home / "notes" / "_meta" / "repos.json").read_text()


def test_one_command_makes_the_store_takes_the_notes_along_and_selects_it(device: Device) -> None:
    pytest.importorskip("agentm_import", reason="`agentm migrate` is its command")
    device.agentm("project", "register", "--slug", "widgets", cwd=device.project)
    shown = device.agentm("vault", "init", "--create", "~/notes").stdout
    assert "again with --use\n" in shown
    assert shown.splitlines()[2].endswith("along as well, with --take-along")
    shown = device.agentm("vault", "init", "~/notes", "--take-along").stdout
    assert "selected store: vault" in shown
    assert "widgets" in (device.home / "notes" / "_meta" / "repos.json").read_text()
    assert "nothing was taken along" in device.agentm("vault", "init", "~/notes", "--take-along").stdout


def test_notes_of_another_vault_stay_where_they_are(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    (device.home / "notes" / "idea.md").write_text("one\n")
    shown = device.agentm("vault", "init", "--create", "~/others", "--use").stdout
    assert shown.endswith(f"\nthe notes of the store before stay at {device.home / 'notes'}\n")


def test_of_a_whole_vault_the_hint_makes_a_folder_for_the_agent(device: Device) -> None:
    (device.home / "my vault" / ".obsidian").mkdir(parents=True)
    done = device.agentm("vault", "init", str(device.home / "my vault"), code=1)
    device.agentm(*hinted(done.stderr))
    assert stamp_of(device.home / "my vault" / "agentm")


def test_a_folder_with_notes_needs_adopt(device: Device) -> None:
    folder = device.home / "my notes"
    folder.mkdir()
    (folder / "old.md").write_text("mine")
    done = device.agentm("vault", "init", str(folder), code=1)
    assert not (folder / "_meta").exists()
    device.agentm(*hinted(done.stderr), "--use")
    assert (folder / "old.md").read_text() == "mine"
    assert stamp_of(folder)


def test_a_whole_obsidian_vault_is_not_taken_by_accident(device: Device) -> None:
    folder = device.home / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    done = device.agentm("vault", "init", str(folder), code=1)
    assert f"agentm vault init {folder / 'agentm'}" in done.stderr
    device.agentm("vault", "init", "--create", str(folder / "agentm"))


def test_files_of_sync_tools_do_not_count_as_notes(device: Device) -> None:
    folder = device.home / "notes"
    folder.mkdir()
    (folder / ".stfolder").mkdir()
    (folder / "desktop.ini").touch()
    device.agentm("vault", "init", str(folder))


@pytest.mark.parametrize(("path", "said"), [("missing/deep/notes", "missing"), ("file.md", "is not a folder")])
def test_nothing_is_made_where_something_else_is_wrong(device: Device, path: str, said: str) -> None:
    (device.home / "file.md").write_text("mine")
    assert said in device.agentm("vault", "init", "--create", str(device.home / path), code=1).stderr
    assert not (device.home / "missing").exists()
    assert (device.home / "file.md").read_text() == "mine"


def test_a_store_is_not_made_inside_another(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes")
    done = device.agentm("vault", "init", "--create", "~/notes/inner", code=1)
    assert "lies inside the store" in done.stderr


def test_an_unmounted_vault_is_not_set_up_anew(device: Device) -> None:
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    folder = device.home / "notes"
    folder.rename(device.home / "unplugged")
    folder.mkdir()
    done = device.agentm("vault", "init", str(folder), code=1)
    assert "is gone" in done.stderr
    assert list(folder.iterdir()) == []
    done = device.agentm("state", "write", "PLAN.md", stdin="x", code=1, cwd=device.project)
    assert "is gone" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_second_device_joins_by_itself(device: Device, tmp_path: Path) -> None:
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    shared = device.home / "notes"
    second = type(device)(tmp_path / "second-home")
    second.agentm("config", "set", "plugins.vault.vault_path", str(shared))
    second.agentm("config", "set", "storage.backend", "vault")
    project = second.home / "work"
    (project / ".harness").mkdir(parents=True)
    second.agentm("state", "write", "PLAN.md", stdin="from the second\n", cwd=project)
    assert (shared / "projects" / "work" / "_harness" / "PLAN.md").read_text() == "from the second\n"


def test_a_folder_that_was_never_set_up_is_read_and_not_written(device: Device) -> None:
    folder = device.home / "notes"
    folder.mkdir()
    device.agentm("config", "set", "plugins.vault.vault_path", str(folder))
    device.agentm("config", "set", "storage.backend", "vault")
    assert device.agentm("vault", "conflicts").stdout == "no conflicts\n"
    done = device.agentm("state", "write", "PLAN.md", stdin="x", code=1, cwd=device.project)
    assert f"agentm vault init {folder}" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["Projects", "PERSONAL"])
def test_a_vault_whose_folders_clash_is_not_adopted(device: Device, name: str) -> None:
    folder = device.home / "My Notes"
    (folder / name).mkdir(parents=True)
    done = device.agentm("vault", "init", "--adopt", "--use", str(folder), code=1)
    assert f"agentm vault init '{folder / 'Agent'}' --create" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [name]
    device.agentm("vault", "init", str(folder / "Agent"), "--create", "--use")


def test_a_misspelled_path_does_not_become_a_store(device: Device) -> None:
    (device.home / "Notes").mkdir()
    done = device.agentm("vault", "init", "~/Ntoes", "--use", code=1)
    assert "--create" in done.stderr
    assert not (device.home / "Ntoes").exists()
    assert "storage" not in device.agentm("config", "list", code=None).stdout


@pytest.mark.parametrize(("answer", "is_made"), [("y", True), ("n", False)])
def test_on_a_terminal_the_folder_is_made_after_a_yes(device: Device, answer: str, is_made: bool) -> None:
    screen, code = device.talk(["vault", "init", "~/notes"], ("Make it?", answer))
    assert (code == 0) is is_made, screen
    assert (device.home / "notes").exists() is is_made


def test_a_folder_above_that_is_missing_is_to_be_made_by_the_operator(device: Device) -> None:
    parent = device.home / "missing"

    assert f"`mkdir -p {parent}`" in device.agentm("vault", "init", str(parent / "notes"), "--create", code=1).stderr
