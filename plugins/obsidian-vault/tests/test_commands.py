"""`agentm vault`, run as a person and as a script would."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Device

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

needs_another_store = pytest.mark.skipif(
    find_spec("agentm_device_local") is None, reason="agentm-device-local is not installed"
)

HARNESS = os.path.join("projects", "work", "_harness")


@pytest.fixture
def store(device: Device) -> Path:
    """A vault in use on this device, with a project's state in it."""
    folder = device.home / "Notes" / "agentm"
    folder.parent.mkdir()
    device.agentm("vault", "init", "--create", str(folder), "--use")
    project = device.home / "work"
    (project / ".harness").mkdir(parents=True)
    device.agentm("state", "write", "PLAN.md", stdin="# plan\n", cwd=project)
    device.agentm("state", "append", "progress.md", stdin="- mine\n", cwd=project)
    return folder


def leave_copies(store: Path) -> None:
    (store / HARNESS / "PLAN (Ada's conflicted copy 2026-05-01).md").write_text("# other plan\n")
    (store / HARNESS / "progress.sync-conflict-20260501-101112-ABCDEF7.md").write_text("- theirs\n")


# ------------------------------------------------------------------------------------------------ state in a vault


def test_state_of_a_project_appears_in_the_vault_byte_for_byte(device: Device, store: Path) -> None:
    project = device.home / "work"
    text = "line one\r\nno end \N{SNOWMAN}"
    shown = device.agentm("state", "write", "PLAN.md", stdin=text, cwd=project).stdout
    assert shown == f"{store / HARNESS / 'PLAN.md'}\n"
    assert (store / HARNESS / "PLAN.md").read_bytes() == text.encode()


def test_a_conflict_copy_of_a_plan_is_never_a_plan(device: Device, store: Path) -> None:
    leave_copies(store)
    for name in ("PLAN (Ada の競合コピー 2026-05-01).md", "PLAN-DESKTOP-AB12CD3.md", "PLAN.md.conflict1"):
        (store / HARNESS / name).write_text("# other plan\n")
    project = device.home / "work"
    assert device.agentm("plan", "list", cwd=project).stdout.split() == ["*", "PLAN.md"]
    assert device.agentm("state", "list", cwd=project).stdout.split() == ["PLAN.md", "progress.md"]
    device.agentm("plan", "use", "2", cwd=project, code=1)


def test_a_plan_beside_one_of_a_shorter_name_is_a_plan(device: Device, store: Path) -> None:
    project = device.home / "work"
    for name in ("PLAN-phase.md", "PLAN-phase-2.md"):
        device.agentm("state", "write", name, stdin=f"# {name}\n- [ ] one\n- [ ] two\n- [ ] three\n", cwd=project)
        device.agentm(
            "state", "write", name.replace("PLAN", "progress"), stdin="- one\n- two\n- three\n", cwd=project
        )
    plans = device.agentm("plan", "list", cwd=project).stdout.split()
    assert plans == ["*", "PLAN.md", "PLAN-phase-2.md", "PLAN-phase.md"]
    assert device.agentm("state", "read", "PLAN-phase-2.md", cwd=project).stdout.startswith("# PLAN-phase-2.md")
    device.agentm("plan", "use", "phase-2", cwd=project)
    device.agentm("vault", "resolve", "--union")
    assert (store / HARNESS / "progress-phase-2.md").read_text() == "- one\n- two\n- three\n"
    assert device.agentm("vault", "conflicts").stdout == "no conflicts\n"


def test_a_suspect_is_listed_and_left_alone(device: Device, store: Path) -> None:
    (store / "Sprint.md").write_text("About sprints.\n")
    (store / "Sprint 2.md").write_text("The second one.\n")
    shown = device.agentm("vault", "conflicts").stdout
    assert "iCloud (suspect)" in shown
    assert "nothing to settle" in shown
    assert json.loads(device.agentm("vault", "conflicts", "--json").stdout)["conflicts"][0]["suspect"] is True
    assert device.agentm("vault", "resolve").stdout == "nothing to settle\n"
    done = device.agentm("vault", "resolve", "Sprint 2.md", "--take", "mine", code=1)
    assert "its text does not show" in done.stderr
    assert (store / "Sprint 2.md").read_text() == "The second one.\n"
    assert "names like copies" in device.agentm("doctor", code=None).stdout


def test_what_google_drive_put_aside_is_listed(device: Device, store: Path) -> None:
    aside = device.home / "Library/Application Support/Google/DriveFS/1234/lost_and_found"
    aside.mkdir(parents=True)
    (aside / "PLAN.md").write_text("never came up")
    assert str(aside / "PLAN.md") in device.agentm("vault", "conflicts").stdout
    assert json.loads(device.agentm("vault", "conflicts", "--json").stdout)["lost_and_found"] == [
        str(aside / "PLAN.md")
    ]
    assert "lost and found" in device.agentm("doctor", code=None).stdout


def test_folders_that_clash_with_the_store_s_own_are_shown(device: Device, store: Path) -> None:
    (store / "Personal").mkdir()
    done = device.agentm("doctor", code=1)
    assert "'Personal' differ only in case" in done.stdout


# ------------------------------------------------------------------------------------------------ conflicts


def test_no_conflicts_are_said_to_be_none(device: Device, store: Path) -> None:
    assert device.agentm("vault", "conflicts").stdout == "no conflicts\n"
    assert json.loads(device.agentm("vault", "conflicts", "--json").stdout)["conflicts"] == []


def test_conflicts_are_listed_with_note_tool_size_and_time(device: Device, store: Path) -> None:
    leave_copies(store)
    shown = device.agentm("vault", "conflicts").stdout
    assert "PLAN (Ada's conflicted copy 2026-05-01).md" in shown
    assert "Dropbox" in shown
    assert "Syncthing" in shown
    listed = json.loads(device.agentm("vault", "conflicts", "--json").stdout)
    assert listed["schema"] == 1
    plan, progress = listed["conflicts"]
    assert plan["note"].endswith("_harness/PLAN.md")
    assert (plan["plan"], plan["note_size"], plan["copy_size"]) == (True, 7, 13)
    assert (progress["plan"], progress["tool"]) == (False, "Syncthing")
    assert progress["copy_changed"].endswith("Z")


def test_listing_changes_nothing(device: Device, store: Path) -> None:
    leave_copies(store)
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    device.agentm("vault", "conflicts")
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before


# ------------------------------------------------------------------------------------------------ resolve


def test_union_merges_what_only_grows_and_leaves_plans_to_a_person(device: Device, store: Path) -> None:
    leave_copies(store)
    done = device.agentm("vault", "resolve", "--union", code=1)
    assert "left for you" in done.stdout
    assert (store / HARNESS / "progress.md").read_text() == "- mine\n- theirs\n"
    assert (store / HARNESS / "PLAN.md").read_text() == "# plan\n"
    assert len(json.loads(device.agentm("vault", "conflicts", "--json").stdout)["conflicts"]) == 1
    device.agentm("vault", "resolve", "--union", "PLAN.md", code=1)


def test_a_script_can_take_a_side_by_name(device: Device, store: Path) -> None:
    leave_copies(store)
    refused = device.agentm("vault", "resolve", f"{HARNESS}/PLAN.md", "--take", "theirs", code=None)
    assert refused.returncode != 0
    assert "--yes" in refused.stderr
    assert (store / HARNESS / "PLAN.md").read_text() == "# plan\n"
    device.agentm("vault", "resolve", f"{HARNESS}/PLAN.md", "--take", "theirs", "--yes")
    assert (store / HARNESS / "PLAN.md").read_text() == "# other plan\n"
    device.agentm("vault", "resolve", "progress.md", "--take", "mine")
    assert device.agentm("vault", "conflicts").stdout == "no conflicts\n"
    kept = sorted(path.read_text() for path in (store / "_meta" / "conflicts").rglob("kept-*"))
    assert kept == ["# plan\n", "- theirs\n"]


@pytest.mark.parametrize("name", ["progress", "work/_harness/progress", "_harness/progress.md"])
def test_a_note_is_named_as_everywhere(device: Device, store: Path, name: str) -> None:
    leave_copies(store)
    device.agentm("vault", "resolve", name, "--take", "mine")
    assert "progress" not in device.agentm("vault", "conflicts").stdout


def test_a_side_is_taken_of_one_note_and_not_of_its_namesake_in_another_project(device: Device, store: Path) -> None:
    leave_copies(store)
    other = store / "projects" / "other" / "_harness"
    other.mkdir(parents=True)
    (other / "PLAN.md").write_text("# the plan of another project\n")
    (other / "PLAN (Ada's conflicted copy 2026-05-01).md").write_text("# its copy\n")
    refused = device.agentm("vault", "resolve", "PLAN.md", "--take", "theirs", "--yes", code=1)
    assert f"projects/other/_harness/PLAN.md, {HARNESS}/PLAN.md" in refused.stderr
    assert (store / HARNESS / "PLAN.md").read_text() == "# plan\n"
    assert (other / "PLAN.md").read_text() == "# the plan of another project\n"
    device.agentm("vault", "resolve", "other/_harness/PLAN.md", "--take", "theirs", "--yes")
    assert (other / "PLAN.md").read_text() == "# its copy\n"
    assert (store / HARNESS / "PLAN.md").read_text() == "# plan\n"


def test_without_a_terminal_nothing_is_chosen(device: Device, store: Path) -> None:
    leave_copies(store)
    done = device.agentm("vault", "resolve", code=1)
    assert "not a terminal" in done.stderr
    assert "--take" in done.stderr
    assert len(json.loads(device.agentm("vault", "conflicts", "--json").stdout)["conflicts"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--take", "mine"], 2),
        (["x", "--take", "mine", "--union"], 2),
        (["nothing.md"], 1),
        (["x", "--take", "all"], 2),
    ],
)
def test_a_wrong_question_is_refused(device: Device, store: Path, arguments: list[str], code: int) -> None:
    leave_copies(store)
    device.agentm("vault", "resolve", *arguments, code=code)


def test_on_a_terminal_both_versions_are_shown_and_the_person_chooses(device: Device, store: Path) -> None:
    leave_copies(store)
    screen, code = device.talk(
        ["vault", "resolve"],
        ("PLAN.md: another version from Dropbox", "theirs"),
        ("progress.md: another version from Syncthing", "union"),
    )
    assert code == 0, screen
    assert "# plan" in screen
    assert "# other plan" in screen
    assert (store / HARNESS / "PLAN.md").read_text() == "# other plan\n"
    assert (store / HARNESS / "progress.md").read_text() == "- mine\n- theirs\n"


def test_on_a_terminal_a_conflict_can_be_skipped_and_a_plan_has_no_union(device: Device, store: Path) -> None:
    leave_copies(store)
    (store / HARNESS / "progress.sync-conflict-20260501-101112-ABCDEF7.md").unlink()
    screen, code = device.talk(["vault", "resolve"], ("Which one is the note?", "skip"))
    assert code == 0, screen
    assert "union" not in screen
    assert (store / HARNESS / "PLAN.md").read_text() == "# plan\n"
    assert len(json.loads(device.agentm("vault", "conflicts", "--json").stdout)["conflicts"]) == 1


def test_what_a_note_holds_reaches_the_terminal_only_as_text(device: Device, store: Path) -> None:
    leave_copies(store)
    (store / HARNESS / "PLAN (Ada's conflicted copy 2026-05-01).md").write_text("\x1b]0;owned\x07\x1b[2J evil\n")
    screen, _ = device.talk(["vault", "resolve", "PLAN.md"], ("Which one is the note?", "skip"))
    assert "\x1b]0;" not in screen
    assert "evil" in screen


@needs_another_store
def test_another_store_is_not_a_vault(device: Device) -> None:
    done = device.agentm("vault", "conflicts", code=1)
    assert "is not a vault" in done.stderr
    assert "agentm vault init PATH --use" in done.stderr


# ------------------------------------------------------------------------------------------------ doctor


def rows(device: Device, *, code: int = 0) -> dict[str, tuple[str, str]]:
    listed = json.loads(device.agentm("doctor", "--json", code=code).stdout)["rows"]
    return {row["check"]: (row["status"], row["message"]) for row in listed}


def test_doctor_says_that_a_vault_is_well(device: Device, store: Path) -> None:
    found = rows(device)
    for check in ("vault path", "vault id", "conflicts", "collisions", "leftovers"):
        assert found[check][0] == "ok", found


def test_doctor_says_what_wants_looking_at(device: Device, store: Path) -> None:
    leave_copies(store)
    (store / "Note.md").touch()
    (store / "note.md").touch()
    (store / "cafe\u0301.md").touch()
    (store / "caf\u00e9.md").touch()
    (store / HARNESS / ".agentm-0123456789abcdef.tmp").touch()
    found = rows(device)
    assert found["conflicts"][0] == "warn"
    assert "2 other versions" in found["conflicts"][1]
    assert found["collisions"][0] == "warn"
    assert "note.md" in found["collisions"][1]
    assert "caf" in found["collisions"][1]
    assert found["leftovers"][0] == "warn"


@needs_another_store
def test_doctor_says_that_a_configured_vault_is_not_the_selected_store(device: Device, store: Path) -> None:
    device.agentm("config", "unset", "storage.backend")
    found = rows(device, code=1)
    assert found["vault"][0] == "warn"
    assert found["storage"][0] == "fail", "nothing else is taken in its place"


@needs_another_store
def test_doctor_does_not_mention_a_vault_that_was_left_on_purpose(device: Device, store: Path) -> None:
    device.agentm("config", "set", "storage.backend", "device-local")
    assert "vault" not in rows(device)


def test_doctor_refuses_a_vault_that_is_gone_in_the_words_of_selection(device: Device, store: Path) -> None:
    store.rename(store.with_name("elsewhere"))
    found = rows(device, code=1)
    assert found["storage"][0] == "fail"
    assert "is missing" in found["storage"][1]
    assert not store.exists()
    assert "vault" not in found, "it is said once"


# ------------------------------------------------------------------------------------------------ under guard


@pytest.mark.parametrize("choice", [("--take", "theirs", "--yes"), ("--take", "both"), ("--union",)])
def test_without_a_terminal_no_stranger_s_text_becomes_known_good(
    device: Device, store: Path, choice: tuple[str, ...]
) -> None:
    config = device.home / ".agentm" / ".agentm-config.json"
    allowed = ["agentm-obsidian-vault", "agentm-device-local", "agentm-checkpoint"]
    settings = json.loads(config.read_text()) | {"plugin_policy": {"allowed": allowed}}
    settings.setdefault("plugins", {})["integrity"] = {"guard": [f"{HARNESS}/progress.md"]}
    config.write_text(json.dumps(settings | {"wrappers": ["integrity"]}))
    (store / HARNESS / "progress.md").unlink()
    device.agentm("state", "write", "progress.md", stdin="- mine\n", cwd=device.home / "work")
    leave_copies(store)
    before = (store / HARNESS / "progress.md").read_text()

    done = device.agentm("vault", "resolve", "progress.md", *choice, code=None)

    assert done.returncode != 0
    assert "under guard" in done.stderr
    assert (store / HARNESS / "progress.md").read_text() == before
    assert len(list((store / HARNESS).glob("progress*"))) == 2
    screen, code = device.talk(["vault", "resolve", "progress.md"], ("Which one is the note?", "theirs"))
    assert code == 0, screen
    assert (store / HARNESS / "progress.md").read_text() == "- theirs\n"
