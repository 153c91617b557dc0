"""What a note was, and the checkpoints of its store, are found again after the note or the store has moved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.checkpoints.device import Device

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """With one decision that was changed once."""
    made = Device(tmp_path)
    save(made, body="Because it is there.\n")
    save(made, "--update", body="Because it is fast.\n")
    return made


def save(device: Device, *options: str, body: str) -> None:
    arguments = ("save", "--slug", "use-sqlite", "--kind", "decision", "--body-file", "-", *options)
    device.agentm(*arguments, stdin=body)


def undone(device: Device, name: str = "use-sqlite") -> str:
    device.agentm("notes", "undo", name)
    return device.agentm("notes", "show", name)


def changes(device: Device, name: str = "use-sqlite") -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(device.agentm("notes", "history", name, "--json"))["changes"]
    return found


def test_a_renamed_project_keeps_its_history(device: Device) -> None:
    device.agentm("project", "rename", "widgets", "gadgets")

    found = changes(device)
    assert [change["what"] for change in found] == ["created", "changed", "moved here"]
    assert [change["note"] for change in found[:2]] == ["projects/widgets/decisions/use-sqlite.md"] * 2
    first = found[1]["version"]
    assert "Because it is there." in device.agentm("notes", "history", "use-sqlite", "--show", first)
    assert "Because it is there." in undone(device)
    assert "Because it is fast." in undone(device)


def test_nothing_is_brought_back_under_a_name_that_its_project_has_left(device: Device) -> None:
    device.agentm("project", "rename", "widgets", "gadgets")

    refusal = device.refused("checkpoint", "undo", "projects/widgets/decisions/use-sqlite.md")
    assert "are in 'projects/gadgets' now" in refusal
    device.agentm("checkpoint", "undo", "projects/gadgets/decisions/use-sqlite.md")
    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")


def test_a_project_without_a_remote_is_found_in_a_store_that_was_brought_back_to_its_name_before(
    device: Device,
) -> None:
    device.agentm("checkpoint", "create")
    device.agentm("project", "rename", "widgets", "gadgets")
    save(device, "--update", body="Because of the name.\n")

    device.agentm("checkpoint", "restore", "latest", "--yes")

    assert "Because it is fast." in device.agentm("notes", "show", "use-sqlite")
    save(device, "--update", body="Because it was.\n")
    assert "projects/widgets/decisions/use-sqlite.md" in device.agentm("notes", "path", "use-sqlite")


def test_of_two_notes_that_a_merge_keeps_apart_each_keeps_its_own_history(device: Device) -> None:
    other = Device(device.home / "other", home=device.home, name="sprockets")
    save(other, body="Because of the team.\n")
    save(other, "--update", body="Because of the vendor.\n")

    device.agentm("project", "merge", "sprockets", "widgets")

    assert "Because it is there." in undone(device, "decisions/use-sqlite")
    assert "Because of the team." in undone(device, "use-sqlite-from-sprockets")


def test_a_note_that_was_moved_keeps_its_history(device: Device) -> None:
    device.agentm("notes", "move", "use-sqlite", "--kind", "fact", "--slug", "database")

    assert "Because it is there." in undone(device, "database")


def test_a_migrated_store_keeps_history_and_checkpoints(device: Device) -> None:
    device.agentm("checkpoint", "create", "--reason", "before the move")
    device.agentm("vault", "init", str(device.home / "vault"), "--create", "--take-along")

    assert "Because it is there." in undone(device)
    created, changed, undo = changes(device)
    assert (created["what"], changed["what"], undo["what"]) == ("created", "changed", f"back to {changed['version']}")
    listed = json.loads(device.agentm("checkpoint", "list", "--json"))
    (older,) = listed["older"]
    assert older["reason"] == "before the move"
    assert "before the move" in device.agentm("checkpoint", "list")
    device.agentm("checkpoint", "restore", older["id"], "--yes")
    assert "Because it is fast." in device.agentm("notes", "show", "use-sqlite")
    assert json.loads(device.agentm("checkpoint", "list", "--json"))["checkpoints"][-1]["automatic"]
    assert "Because it is fast." in device.agentm(
        "checkpoint", "show", older["id"], "--path", "projects/widgets/decisions/use-sqlite.md"
    )
    device.agentm("checkpoint", "verify")


def test_there_and_back_again(device: Device) -> None:
    device.agentm("vault", "init", str(device.home / "vault"), "--create", "--take-along")
    save(device, "--update", body="Because of the vault.\n")
    device.agentm("migrate", "--to", "device-local", "--merge", "--keep-apart", "--yes")

    device.agentm("project", "rename", "widgets", "gadgets")
    assert "Because it is there." in undone(device, "decisions/use-sqlite")
    assert "Because it is fast." in undone(device, "use-sqlite-from-vault")


def test_a_project_that_went_to_another_store_keeps_its_history(device: Device) -> None:
    device.agentm("vault", "init", str(device.home / "vault"), "--create")
    device.agentm("store", "add", "mine", "vault", f"vault_path={device.home / 'vault'}")
    device.agentm("project", "use-store", "mine", "--move", "--yes")

    assert "Because it is there." in undone(device)
