"""What commands that do something answer to a program: one JSON object, whatever they would tell a person."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.pins.laptop import Laptop, needs_git, posix_only

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    made = Laptop(tmp_path)
    beside = os.path.dirname(sys.executable)
    made.environ["PATH"] = os.pathsep.join((beside, made.environ["PATH"]))  # hosts are told to start `agentm`
    return made


def answer(laptop: Laptop, *arguments: str, code: int = 0, **environ: str) -> dict[str, Any]:
    said = laptop.run(*arguments, "--json", **environ)
    assert said.code == code, f"agentm {' '.join(arguments)}: {said.err}"
    found: dict[str, Any] = json.loads(said.out)
    assert found.pop("schema") == 1
    assert code or not said.err
    return found


def test_the_first_run_says_what_it_did(laptop: Laptop) -> None:
    (laptop.home / ".claude").mkdir()
    planned = answer(laptop, "setup", "--dry-run")
    assert [host["outcome"] for host in planned["hosts"]] == ["would be connected"]
    done = answer(laptop, "setup", "--yes")
    settings = str(laptop.home / ".claude" / "settings.json")
    (claude,) = done["hosts"]
    assert (claude["host"], claude["outcome"], settings in claude["files"]) == ("claude-code", "connected", True)
    assert (done["dry_run"], done["imports"]) == (False, [])
    again = answer(laptop, "connect", "claude-code")
    assert [(host["outcome"], host["files"]) for host in again["hosts"]] == [("is connected already", [])]
    gone = answer(laptop, "disconnect")
    assert [(host["host"], host["outcome"]) for host in gone["hosts"]] == [("claude-code", "disconnected")]


def test_a_host_that_cannot_be_connected_is_in_the_answer(laptop: Laptop) -> None:
    (laptop.home / ".claude").mkdir()
    (laptop.home / ".claude" / "settings.json").write_text("{ not json")
    (claude,) = answer(laptop, "connect", "claude-code", code=1)["hosts"]
    assert (claude["outcome"], claude["files"]) == ("not connected", [])
    assert claude["error"]


def test_settings_plans_and_projects(laptop: Laptop) -> None:
    config = str(laptop.home / ".config" / "agentm" / ".agentm-config.json")
    assert answer(laptop, "config", "set", "state_mode", "local") == {"key": "state_mode", "path": config}
    assert answer(laptop, "config", "unset", "state_mode") == {"key": "state_mode", "path": config}
    assert answer(laptop, "config", "unset", "state_mode", code=1)["error"] == "'state_mode' is not set"
    laptop.harness.mkdir()
    (laptop.harness / "PLAN-side.md").write_text("# plan\n")
    assert answer(laptop, "plan", "use", "side") == {"active": "PLAN-side.md"}
    assert answer(laptop, "plan", "clear") == {"active": "PLAN.md"}
    check = answer(laptop, "project", "check", code=3)
    assert (check["slug"], check["remote"], check["same"]) == ("widgets", None, False)
    assert answer(laptop, "project", "register")["slug"] == "widgets"
    assert answer(laptop, "project", "unregister") == {"slug": "widgets"}


def test_stores_are_made_and_added_and_left(laptop: Laptop) -> None:
    vault, team = str(laptop.folder / "vault"), str(laptop.folder / "team")
    made = answer(laptop, "vault", "init", vault, "--create")
    assert (made["place"], made["joined"], made["in_use"], made["notes_before"]) == (vault, False, False, None)
    joined = answer(laptop, "vault", "init", vault, "--use")
    assert (joined["store"], joined["joined"], joined["in_use"]) == (made["store"], True, True)
    if shutil.which("git"):
        assert answer(laptop, "git", "init", team)["inside_of"] is None
        added = answer(laptop, "store", "add", "team", "git", f"root={team}")
        assert added == {"name": "team", "protocol": "git", "place": team, "warning": None}
        used = answer(laptop, "project", "use-store", "team")
        moved = {"copied": 0, "removed": 0, "project": "widgets", "before": "widgets"}
        assert used == {"store": "team", "place": team, **moved}
        assert answer(laptop, "project", "list")["store_name"] == "team"
        assert answer(laptop, "project", "use-store", "default")["store"] == "default"
        assert answer(laptop, "store", "remove", "team") == {"name": "team"}
    assert answer(laptop, "store", "forget", vault, "--yes") == {"place": vault, "protocol": "vault"}


@needs_git
def test_notes_taken_along_are_named_in_one_object(laptop: Laptop) -> None:
    laptop.must("save", "Payments use SQLite")
    place = (
        laptop.must("config", "get", "storage.backend") if "storage.backend" in laptop.must("config", "list") else ""
    )
    assert not place.strip()
    clone = str(laptop.folder / "clone")
    taken = answer(laptop, "git", "init", clone, "--take-along")
    assert (taken["in_use"], taken["notes_before"]) == (True, str(laptop.home / ".agentm" / "memory"))
    assert [note["slug"] for note in answer(laptop, "notes", "list")["notes"]] == ["payments-use-sqlite"]


@posix_only
def test_conflicts_of_a_vault_are_settled(laptop: Laptop) -> None:
    vault = laptop.folder / "vault"
    laptop.must("vault", "init", str(vault), "--create", "--use")
    laptop.must("state", "append", "progress.md", input="- mine\n")
    laptop.must("state", "write", "PLAN.md", input="# mine\n")
    harness = vault / "projects" / "widgets" / "_harness"
    (harness / "progress.sync-conflict-20260501-101112-ABCDEF7.md").write_text("- theirs\n")
    (harness / "PLAN.sync-conflict-20260501-101112-ABCDEF7.md").write_text("# theirs\n")
    merged = answer(laptop, "vault", "resolve", "--union", code=1)
    assert [one["note"] for one in merged["settled"]] == ["projects/widgets/_harness/progress.md"]
    assert [one["note"] for one in merged["left"]] == ["projects/widgets/_harness/PLAN.md"]
    chosen = answer(laptop, "vault", "resolve", "PLAN.md", "--take", "mine")
    assert [(one["take"], one["note"]) for one in chosen["settled"]] == [
        ("mine", "projects/widgets/_harness/PLAN.md")
    ]


def test_a_note_is_edited(laptop: Laptop) -> None:
    laptop.must("save", "Payments use SQLite")
    editor = laptop.folder / "editor"
    editor.write_text('#!/bin/sh\necho more >> "$1"\n')
    editor.chmod(0o755)
    assert answer(laptop, "notes", "edit", "payments-use-sqlite", EDITOR=str(editor))["changed"] is True
    assert answer(laptop, "notes", "edit", "payments-use-sqlite", EDITOR="true")["changed"] is False


def test_a_store_is_encrypted_rotated_and_made_plain(laptop: Laptop) -> None:
    pytest.importorskip("agentm_encryption")
    laptop.must("save", "Payments use SQLite")
    recovery = str(laptop.folder / "recovery")
    sealed = answer(laptop, "encryption", "init", "--recovery-file", recovery, "--name", "first", "--yes")
    assert sealed["sealed"] > 0
    assert (sealed["epoch"], sealed["left"], sealed["no_text"]) == (1, [], [])
    status = json.loads(laptop.must("encryption", "status", "--json"))
    assert "".join(sealed["fingerprint"].split()) == "".join(status["fingerprint"].split())
    joined = answer(laptop, "encryption", "join", "--fingerprint", sealed["fingerprint"])
    assert joined["recipient"].startswith("age1")
    again = answer(laptop, "encryption", "admit", joined["recipient"], "second")
    assert (again["new"], again["fingerprint"]) == (False, sealed["fingerprint"])
    assert answer(laptop, "encryption", "recover", recovery, "--name", "third")["epoch"] == 1
    (note,) = json.loads(laptop.must("notes", "list", "--json"))["notes"]
    failed = answer(laptop, "encryption", "accept", note["key"], "projects/none.md", code=1)
    assert failed["accepted"] == [note["key"]]  # what was done before it failed
    assert failed["error"]
    rotated = answer(laptop, "encryption", "rotate", "--yes")
    assert (rotated["epoch"], rotated["left"]) == (2, {})
    assert answer(laptop, "encryption", "decrypt", "--yes")["decrypted"] > 0


def test_files_that_are_written_are_named(laptop: Laptop) -> None:
    folder = laptop.folder / "folder"
    written = answer(laptop, "hosts", "folder", str(folder))["files"]
    assert written
    assert all(os.path.isfile(path) for path in written)
    new = answer(laptop, "plugins", "new", "my-store", "--dir", str(laptop.folder))
    assert (new["kind"], len(new["next"])) == ("backend", 3)
    assert os.path.isdir(new["folder"])


GONE = "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir(os.path.join('..', 'gone'))"


@posix_only
@pytest.mark.parametrize(
    "command", [("save", "--kind", "fact", "--slug", "port"), ("state", "append", "progress.md"), ("doctor",)]
)
def test_a_current_directory_that_is_gone_is_in_nobody_s_way_who_needs_none(
    laptop: Laptop, command: tuple[str, ...]
) -> None:
    place = () if command == ("doctor",) else ("--cwd", str(laptop.project))
    said = laptop.run(*command, *place, input="The port is 8080.\n", before=GONE)
    assert (said.code, said.err) == (0, "")


@posix_only
@pytest.mark.parametrize(
    "command", [("search", "port"), ("notes", "list"), ("reindex",), ("log",), ("inbox", "list")]
)
def test_nor_of_whoever_looks_at_the_whole_store(laptop: Laptop, command: tuple[str, ...]) -> None:
    laptop.must("save", "The port is 8080.", "--kind", "fact", "--slug", "port")
    said = laptop.run(*command, before=GONE)
    assert "unexpected" not in said.err
    assert "Traceback" not in said.err
    assert "FileNotFoundError" not in said.out + said.err
