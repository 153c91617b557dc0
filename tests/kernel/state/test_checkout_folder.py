"""`.harness/` in a checkout: hidden from git once state lies there, and never a link to somewhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import (
    harness_state_dir,
    read_state_file,
    resolve_project,
    state_path,
    update_state_file,
    write_state_file,
)
from agentm_kernel.plugin import AgentmError, ConfigError
from agentm_kernel.projects.git_ignore import hide_from_git
from agentm_kernel.state import files as state_files
from agentm_kernel.state.files import append_state_file, set_marker

if TYPE_CHECKING:
    from pathlib import Path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(directory: Path, *arguments: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
def repository(device) -> Path:
    root = device.projects / "widgets"
    root.mkdir()
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
    return root


def save_plan(root: Path) -> None:
    write_state_file(resolve_project({"cwd": root}), "PLAN.md", "the plan\n")


@needs_git
def test_cleaning_and_adding_leave_a_plan_alone(repository):
    save_plan(repository)
    git(repository, "clean", "-ffd")
    git(repository, "add", ".")
    assert (repository / ".harness" / "PLAN.md").read_text() == "the plan\n"
    assert git(repository, "status", "--porcelain") == ""


@needs_git
@pytest.mark.parametrize("first", ["write", "update", "append", "marker"])
def test_whatever_is_written_first_hides_the_folder(repository, first):
    here = resolve_project({"cwd": repository})
    if first == "write":
        write_state_file(here, "progress.md", "- done\n")
    elif first == "update":
        update_state_file(here, "progress.md", lambda text: (text or "") + "- done\n")
    elif first == "append":
        append_state_file(here, "progress.md", "- done\n")
    else:
        set_marker(here, "active-plan", "phase-2\n")
    written = [path for path in (repository / ".harness").iterdir() if path.name != ".gitignore"]
    git(repository, "clean", "-ffd")
    git(repository, "add", ".")
    assert [path.exists() for path in written] == [True]
    assert git(repository, "status", "--porcelain") == ""


@needs_git
@pytest.mark.parametrize("version", ["2", "4"])
def test_a_folder_that_the_repository_tracks_is_not_hidden(repository, version):
    (repository / ".harness").mkdir()
    (repository / ".harness" / "PLAN.md").write_text("tracked\n")
    (repository / ".happy").write_text("a path that shares the beginning\n")
    git(repository, "add", ".")
    git(repository, "update-index", "--index-version", version)
    save_plan(repository)
    assert not (repository / ".harness" / ".gitignore").exists()


@needs_git
def test_a_linked_worktree_is_not_hidden_so_that_git_refuses_to_remove_it(repository, tmp_path):
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    save_plan(tmp_path / "tree")
    assert not (tmp_path / "tree" / ".harness" / ".gitignore").exists()
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "worktree", "remove", str(tmp_path / "tree"))


@needs_git
@pytest.mark.skipif(os.name == "nt", reason="needs modes of files")
def test_what_hides_the_folder_can_be_read_by_whoever_may_read_the_checkout(repository):
    """Else the git of another user of the machine fails, or shows them everything that is hidden."""
    previous = os.umask(0o022)
    try:
        save_plan(repository)
    finally:
        os.umask(previous)
    assert (repository / ".harness" / ".gitignore").stat().st_mode & 0o777 == 0o644


@needs_git
def test_what_is_there_already_stays(repository):
    (repository / ".harness").mkdir()
    (repository / ".harness" / ".gitignore").write_text("progress.md\n")
    save_plan(repository)
    assert (repository / ".harness" / ".gitignore").read_text() == "progress.md\n"


@needs_git
@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_what_a_link_in_its_place_leads_to_is_not_hidden(repository, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repository / ".harness").symlink_to(elsewhere, target_is_directory=True)
    hide_from_git(str(repository))
    assert list(elsewhere.iterdir()) == []


def test_without_git_there_is_nothing_to_hide_from(device):
    folder = device.projects / "plain"
    folder.mkdir()
    save_plan(folder)
    assert sorted(path.name for path in (folder / ".harness").iterdir()) == ["PLAN.md"]


@needs_git
def test_failing_to_hide_never_fails_the_write(repository, monkeypatch):
    save_plan(repository)
    (repository / ".harness" / ".gitignore").unlink()
    monkeypatch.setattr(os, "listdir", lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    hide_from_git(str(repository))
    assert not (repository / ".harness" / ".gitignore").exists()


@needs_git
def test_what_a_full_disk_kept_from_being_hidden_is_hidden_the_next_time(repository, monkeypatch):
    save_plan(repository)
    (repository / ".harness" / ".gitignore").unlink()
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        hide_from_git(str(repository))
    hide_from_git(str(repository))
    assert (repository / ".harness" / ".gitignore").read_text() == "*\n"


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
@pytest.mark.parametrize("leads", ["to another project", "nowhere"])
def test_a_linked_harness_is_refused_for_reading_and_writing(device, leads):
    victim, cloned = device.project("victim"), device.project("cloned")
    save_plan(victim)
    target = victim / ".harness" if leads == "to another project" else device.projects / "gone"
    before = resolve_project({"cwd": cloned})
    (cloned / ".harness").symlink_to(target, target_is_directory=True)

    attempts = [
        lambda: resolve_project({"cwd": cloned}),
        lambda: state_path({"cwd": str(cloned)}, "plan"),
        lambda: read_state_file(before, "PLAN.md"),
        lambda: write_state_file(before, "PLAN.md", "mine\n"),
        lambda: harness_state_dir(before),
    ]
    for attempt in attempts:
        with pytest.raises(ConfigError, match="symbolic link"):
            attempt()
    assert (victim / ".harness" / "PLAN.md").read_text() == "the plan\n"


def test_a_home_is_no_project_to_write_a_plan_into(device):
    with pytest.raises(ConfigError, match="is not a project"):
        save_plan(device.home)
    assert not (device.home / ".harness").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_that_comes_after_the_look_leads_nowhere(device, monkeypatch):
    victim, cloned = device.project("victim"), device.project("cloned")
    save_plan(victim)
    here = resolve_project({"cwd": cloned})

    def look_and_be_deceived(root):
        (cloned / ".harness").symlink_to(victim / ".harness", target_is_directory=True)

    for attempt in (
        lambda: read_state_file(here, "PLAN.md"),
        lambda: write_state_file(here, "PLAN.md", "mine\n"),
        lambda: append_state_file(here, "PLAN.md", "mine\n"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(state_files, "refuse_linked_harness", look_and_be_deceived)
            with pytest.raises(AgentmError):
                attempt()
        (cloned / ".harness").unlink()
    assert (victim / ".harness" / "PLAN.md").read_text() == "the plan\n"


def test_what_an_append_notes_down_for_the_case_of_a_crash_lies_with_the_device_and_not_in_the_checkout(device):
    here = resolve_project({"cwd": device.project()})
    append_state_file(here, "progress.md", "- done\n")
    append_state_file(here, "progress.md", "- done\n")
    assert os.path.isdir(os.path.join(here.device.state_dir, "appends"))
    assert {*os.listdir(here.project_root / ".harness")} <= {"progress.md", ".gitignore"}
