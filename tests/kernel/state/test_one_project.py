"""One project is one project wherever it is entered, and two are two whatever they are called. With the real git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import harness_state_dir, read_state_file, resolve_project, write_state_file
from agentm_kernel.plugin import ConfigError, FileStore

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(directory: Path, *arguments: str) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ["git", "-c", "protocol.file.allow=always", "-C", str(directory), *arguments]
    subprocess.run(command, env=environ, check=True, capture_output=True, timeout=60)


def repository(directory: Path, remote: str | None = None) -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "--quiet")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", "first")
    if remote:
        git(directory, "remote", "add", "origin", remote)
    return directory


def place_of(directory: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    monkeypatch.chdir(directory)
    return resolve_project().slug, harness_state_dir()


def test_one_project_has_one_place_from_wherever_it_is_entered(synced, tmp_path, monkeypatch):
    main = repository(synced.projects / "widgets", "git@example.com:ana/widgets.git")
    (main / "src" / "deep").mkdir(parents=True)
    git(main, "worktree", "add", "--quiet", str(tmp_path / "fix-a-bug"))
    (tmp_path / "elsewhere").symlink_to(main, target_is_directory=True)
    clone = tmp_path / "second-clone"
    git(tmp_path, "clone", "--quiet", str(main), str(clone))
    git(clone, "remote", "set-url", "origin", "https://example.com/ana/widgets")
    outer = repository(tmp_path / "outer", "git@example.com:ana/outer.git")
    git(outer, "submodule", "add", "--quiet", str(main), "vendored")
    git(outer / "vendored", "remote", "set-url", "origin", "ssh://git@example.com/ana/widgets.git")

    places = [
        place_of(directory, monkeypatch)
        for directory in (main, main / "src" / "deep", tmp_path / "fix-a-bug", tmp_path / "elsewhere", clone)
    ]
    places.append(place_of(outer / "vendored", monkeypatch))
    monkeypatch.chdir(tmp_path)
    main.rename(synced.projects / "renamed")
    places.append(place_of(synced.projects / "renamed", monkeypatch))

    assert {*places} == {("widgets", synced.store / "projects" / "widgets" / "_harness")}
    assert place_of(outer, monkeypatch)[0] == "outer"


def test_what_one_clone_writes_every_other_one_reads(synced, tmp_path, monkeypatch):
    main = repository(synced.projects / "widgets", "git@example.com:ana/widgets.git")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(main), str(clone))
    git(clone, "remote", "set-url", "origin", "https://example.com/ana/widgets.git")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    write_state_file(resolve_project({"cwd": clone}), "PLAN.md", "one plan")

    for directory in (main, tmp_path / "tree"):
        assert read_state_file(resolve_project({"cwd": directory}), "PLAN.md") == "one plan"
        write_state_file(resolve_project({"cwd": directory}), "progress.md", str(directory))


def test_two_repositories_of_one_name_are_told_apart(synced, tmp_path):
    ours = repository(tmp_path / "a" / "widgets", "git@example.com:ana/widgets.git")
    theirs = repository(tmp_path / "b" / "widgets", "git@example.com:ben/widgets.git")
    without = repository(tmp_path / "c" / "widgets")
    write_state_file(resolve_project({"cwd": ours}), "PLAN.md", "ours")

    names = [resolve_project({"cwd": stranger}).slug for stranger in (theirs, without)]
    assert names == ["ben-widgets", "widgets-2"]
    (theirs / ".harness").mkdir()
    (theirs / ".harness" / "project.json").write_text('{"vault_project": "bens-widgets"}')
    write_state_file(resolve_project({"cwd": theirs}), "PLAN.md", "theirs")

    assert read_state_file(resolve_project({"cwd": ours}), "PLAN.md") == "ours"
    assert read_state_file(resolve_project({"cwd": theirs}), "PLAN.md") == "theirs"


def test_state_in_the_checkout_is_that_of_each_work_tree(device, tmp_path, monkeypatch):
    main = repository(device.projects / "widgets", "git@example.com:ana/widgets.git")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))

    assert place_of(main, monkeypatch) == ("widgets", main / ".harness")
    assert place_of(tmp_path / "tree", monkeypatch) == ("widgets", tmp_path / "tree" / ".harness")


def test_two_first_writes_at_once_in_a_checkout_without_a_remote_are_one_project_s(synced, monkeypatch):
    """Only this device knows the checkout, so the second has to wait for what the first remembers."""
    monkeypatch.chdir(repository(synced.projects / "widgets"))
    folders, real = [], FileStore.write
    other = threading.Thread(target=lambda: folders.append(resolve_project().claim()), daemon=True)

    def write(self, locator, *given, **named):
        if locator.name == "_project.json" and other.ident is None:
            other.start()
            other.join(0.5)
        return real(self, locator, *given, **named)

    monkeypatch.setattr(FileStore, "write", write)
    folders.append(resolve_project().claim())
    other.join(60)

    assert [folder.key for folder in folders] == ["projects/widgets"] * 2


def test_which_project_a_checkout_is_this_device_keeps_by_the_id_of_the_store(synced, monkeypatch):
    monkeypatch.chdir(repository(synced.projects / "widgets"))
    assert not resolve_project().is_claimed
    resolve_project().claim()
    assert resolve_project().is_claimed
    store_id = json.loads((synced.store / "_meta" / "store.json").read_text())["id"]
    (known,) = json.loads((synced.state_dir / "stores" / store_id / "checkouts.json").read_text()).values()
    assert known["slug"] == "widgets"


def test_a_project_that_gets_a_remote_is_known_by_it_from_then_on(synced, monkeypatch):
    main = repository(synced.projects / "widgets")
    monkeypatch.chdir(main)
    resolve_project().claim()
    git(main, "remote", "add", "origin", "git@example.com:ana/widgets.git")
    resolve_project().claim()
    record = json.loads((synced.store / "projects" / "widgets" / "_project.json").read_text())
    assert record["remotes"] == ["example.com/ana/widgets"]


@pytest.mark.skipif(os.name == "nt", reason="needs a current directory that can go away")
def test_where_the_current_directory_is_gone_only_a_whole_path_says_which_project_is_meant(
    synced, tmp_path, monkeypatch
):
    main, gone = repository(synced.projects / "widgets"), tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for context in (None, {"cwd": "widgets"}):
        with pytest.raises(ConfigError, match="the current directory cannot be used") as caught:
            resolve_project(context)
        assert caught.value.hint == "change to a directory that exists"
    assert resolve_project({"cwd": str(main)}).slug == "widgets"
