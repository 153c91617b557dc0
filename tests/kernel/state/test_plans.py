from __future__ import annotations

import os

import pytest

from agentm_kernel import resolve_project
from agentm_kernel.here import list_plan_files, resolve_active_plan
from agentm_kernel.plugin import ActivePlanError, ConfigError, ConflictCopies, FileStore
from agentm_kernel.state.files import write_state_file
from agentm_kernel.state.plans import (
    clear_plan,
    list_left_behind,
    list_plans_and_copies,
    plan_files,
    use_plan,
)
from agentm_kernel.state.routing import Resolution


@pytest.fixture
def resolution(device, monkeypatch):
    root = device.project()
    monkeypatch.chdir(root)
    (root / ".harness").mkdir()
    return resolve_project()


@pytest.fixture
def marker(resolution):
    return resolution.project_root / ".harness" / "active-plan"


def write(resolution, *names):
    for name in names:
        write_state_file(resolution, name, f"# {name}\n")


@pytest.mark.parametrize("name", ["foo", "PLAN-foo", "PLAN-foo.md", " foo ", "foo.md"])
def test_every_spelling_of_a_plan_is_the_same_plan(name):
    assert plan_files(name) == ("PLAN-foo.md", "progress-foo.md")


@pytest.mark.parametrize("name", ["", " ", "PLAN", "PLAN.md", "PLAN-", "PLAN-.md"])
def test_the_plan_without_a_name_is_the_plain_one(name):
    assert plan_files(name) == ("PLAN.md", "progress.md")


def test_the_prefix_is_taken_off_once_and_case_is_kept():
    assert plan_files("PLAN-PLAN-x") == ("PLAN-PLAN-x.md", "progress-PLAN-x.md")
    assert plan_files("Foo") == ("PLAN-Foo.md", "progress-Foo.md")


@pytest.mark.parametrize(
    "name", ["../foo", "a/b", "a\\b", "a\0b", ".", "..", "PLAN-../x", "x" * 300, "a\nb", "e\u0301"]
)
def test_an_unsafe_name_is_a_value_error(name):
    with pytest.raises(ValueError, match="unsafe plan name") as refused:
        plan_files(name)
    assert isinstance(refused.value, ConfigError)


@pytest.mark.parametrize("name", ["PLAN-PLAN", "PLAN-PLAN.md", " PLAN-PLAN "])
def test_a_name_that_could_be_the_plain_plan_too_is_refused(name):
    with pytest.raises(ValueError, match="it could be PLAN.md, too") as refused:
        plan_files(name)
    assert "say `PLAN`" in refused.value.hint


BLANK = ["", " ", "\n\n\t\r\n", "\ufeff\n", " " * 10_000]


@pytest.mark.parametrize("text", BLANK, ids=["empty", "space", "lines", "BOM", "long"])
def test_white_space_is_not_a_plan(resolution, marker, text):
    write_state_file(resolution, "PLAN.md", text)
    write_state_file(resolution, "PLAN-foo.md", text)
    assert list_plan_files(resolution) == []
    with pytest.raises(ActivePlanError, match="or it is empty"):
        use_plan(resolution, "foo")
    marker.write_text("foo\n")
    with pytest.raises(ActivePlanError, match="not there or empty") as caught:
        resolve_active_plan(resolution)
    assert caught.value.hint == "run `agentm plan use NAME`, or `agentm plan clear`"


def test_a_plan_that_cannot_be_read_is_not_reported_as_none(resolution):
    (resolution.project_root / ".harness" / "PLAN.md").write_bytes(b"\xff\xfe plan")
    assert list_plan_files(resolution) == ["PLAN.md"]


def test_an_explicit_plan_beats_the_marker_and_need_not_exist(resolution, marker):
    write(resolution, "PLAN-foo.md")
    marker.write_text("foo\n")

    assert resolve_active_plan(resolution, "bar") == ("PLAN-bar.md", "progress-bar.md")
    assert resolve_active_plan(resolution, "") == ("PLAN.md", "progress.md")


def test_the_marker_beats_the_plain_plan(resolution, marker):
    write(resolution, "PLAN.md", "PLAN-foo.md")
    assert resolve_active_plan(resolution) == ("PLAN.md", "progress.md")

    marker.write_text("PLAN-foo.md\n")

    assert resolve_active_plan(resolution) == ("PLAN-foo.md", "progress-foo.md")


@pytest.mark.parametrize("text", ["", " \n", "../foo\n", "gone\n", "empty\n", "PLAN.md\n", "a\nb\n"])
def test_a_marker_that_leads_nowhere_is_an_error_and_never_the_plain_plan(resolution, marker, text):
    write_state_file(resolution, "PLAN-empty.md", "")
    marker.write_text(text)

    with pytest.raises(ActivePlanError, match="active-plan"):
        resolve_active_plan(resolution)


@pytest.mark.parametrize("kind", ["bytes", "fifo", "folder", "dangling link", "huge"])
def test_a_marker_that_cannot_be_read_is_an_error(resolution, marker, kind):
    write(resolution, "PLAN.md")
    {
        "bytes": lambda: marker.write_bytes(b"\xff"),
        "fifo": lambda: os.mkfifo(marker),
        "folder": marker.mkdir,
        "dangling link": lambda: marker.symlink_to("nowhere"),
        "huge": lambda: marker.write_bytes(b"x" * 5_000_000),
    }[kind]()

    with pytest.raises(ActivePlanError):
        resolve_active_plan(resolution)


def test_plans_are_listed_plain_first_without_archives_and_conflict_copies(resolution):
    plans = ["PLAN.md", "PLAN-Zoo.md", "PLAN-a.md", "PLAN-a_conflict-resolver.md", "PLAN-b_conflict-2-ways.md"]
    plans += ["PLAN-report (2026).md", "PLAN-xPLAN.md"]
    others = [
        "PLAN.archive.20260101-a.md",
        "PLAN-a (conflicted copy 2026-01-01).md",
        "PLAN-a (conflict 1a2b3c4d).md",
        "PLAN-a [conflict 1a2b3c4d].md",
        "PLAN-a (unseen 1a2b3c4d).md",
        "PLAN-a.sync-conflict-20260101-120000-ABCDEFG.md",
        "PLAN-a [Conflict 1].md",
        "PLAN-a-safeBackup-0001.md",
        "PLAN-a.conflict1.md",
        "PLAN-.md",
        "PLAN-a.txt",
        "plan-a2.md",
        "progress.md",
    ]
    write(resolution, *plans, *others)
    (resolution.project_root / ".harness" / "PLAN-folder.md").mkdir()

    assert list_plan_files(resolution) == plans


def test_a_store_is_not_asked_for_copies_of_plans_that_lie_in_the_checkout(resolution, tmp_path):
    class Asked(FileStore, ConflictCopies):
        def conflict_copies(self, below):
            raise AssertionError("its copies are of other plans")

        def read_copy(self, copy):
            raise NotImplementedError

    write(resolution, "PLAN.md", "PLAN (conflict 1a2b3c4d).md")
    here = Resolution(resolution.root, Asked(tmp_path / "store", create_root=True))
    assert list_plans_and_copies(here) == (["PLAN.md"], ["PLAN (conflict 1a2b3c4d).md"])


def test_a_plan_is_chosen_and_the_choice_taken_back(resolution, marker):
    write(resolution, "PLAN.md", "PLAN-foo.md")

    assert use_plan(resolution, "foo") == "PLAN-foo.md"
    assert marker.read_text() == "foo\n"
    assert clear_plan(resolution) is True
    assert clear_plan(resolution) is False
    assert resolve_active_plan(resolution) == ("PLAN.md", "progress.md")


def test_choosing_the_plain_plan_takes_the_choice_back(resolution, marker):
    write(resolution, "PLAN.md", "PLAN-foo.md")
    use_plan(resolution, "foo")

    assert use_plan(resolution, "PLAN") == "PLAN.md"
    assert not marker.exists()


def test_a_plan_that_is_not_there_is_not_chosen(resolution, marker):
    with pytest.raises(ActivePlanError, match=r"there is no plan PLAN-bar.md.*: none"):
        use_plan(resolution, "bar")
    write(resolution, "PLAN-foo.md")
    with pytest.raises(ActivePlanError, match="there is no plan PLAN-bar.md.*: PLAN-foo.md"):
        use_plan(resolution, "bar")
    assert not marker.exists()


def test_the_marker_stays_in_the_checkout_while_plans_lie_in_the_store(synced, monkeypatch):
    root = synced.project()
    monkeypatch.chdir(root)
    resolution = resolve_project()
    write(resolution, "PLAN-foo.md")

    use_plan(resolution, "foo")

    assert (root / ".harness" / "active-plan").read_text() == "foo\n"
    assert resolve_active_plan(resolution) == ("PLAN-foo.md", "progress-foo.md")
    assert list_plan_files(resolution) == ["PLAN-foo.md"]


def test_taking_back_a_choice_that_was_never_made_creates_nothing(device, monkeypatch):
    root = device.project()
    monkeypatch.chdir(root)

    assert clear_plan(resolve_project()) is False
    assert not (root / ".harness").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("PLAN-merge_conflict-ui.md", "PLAN-solve conflict handling.md", "PLAN-conflict.md", "PLAN-conflict-2.md"),
        *("PLAN-edit-conflict-dialog.md", "PLAN-conflicted copy detection.md", "PLAN-drop-safebackup-mode.md"),
        *("PLAN-a (conflict resolution).md", "PLAN-conflict)x.md", "PLAN-konfliktkopie-erkennung.md"),
        *("PLAN-\u51b2\u7a81\u5904\u7406.md", "PLAN-git_conflict-phase2.md", "PLAN-v2.conflicts.md"),
        *(
            "PLAN-fix sync-conflict 20260501.md",
            "PLAN-phase (2).md",
            "PLAN-no more conflict).md",
            "PLAN-..pathlib.md",
        ),
    ],
)
def test_a_plan_about_conflicts_is_a_plan(resolution, name):
    write(resolution, name)
    assert list_plan_files(resolution) == [name]
    assert list_plans_and_copies(resolution) == ([name], [])


def test_an_empty_marker_is_not_taken_for_the_plain_plan(resolution, marker):
    write(resolution, "PLAN.md")
    marker.write_text("\n")
    with pytest.raises(ActivePlanError, match="active-plan is empty"):
        resolve_active_plan(resolution)


def test_one_letter_is_a_plan(resolution):
    write_state_file(resolution, "PLAN.md", "x")
    assert list_plan_files(resolution) == ["PLAN.md"]


def test_plans_in_a_checkout_whose_state_belongs_into_the_store_are_left_behind(synced, monkeypatch):
    root = synced.project()
    monkeypatch.chdir(root)
    resolution = resolve_project()
    assert list_left_behind(resolution, []) == []
    (root / ".harness").mkdir()
    for name in ("PLAN.md", "PLAN-a.md", "progress-a.md", "progress.md", "notes.md", "active-plan"):
        (root / ".harness" / name).write_text("x")
    assert list_left_behind(resolution, ["PLAN.md"]) == ["PLAN-a.md", "progress-a.md", "progress.md"]
    synced.uses("device-local")
    assert list_left_behind(resolve_project(), []) == []
