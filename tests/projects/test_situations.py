"""The situations of `docs/explanation/projects.md`: each with a real store, the real git, and devices of its own.

A device is a home of its own with the same store configured. Notes are saved and listed the way the commands do it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import ConfigError, Device, StorageSelectionError
from agentm_kernel.projects.records import pointer_locator

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ANA, BEN = "git@example.com:ana/widgets.git", "https://example.com/ben/widgets"


class Laptop:
    """One device: what its agents save, and what they are shown."""

    def __init__(self, home: Path, store: Path, protocol: str) -> None:
        home.mkdir()
        option = "vault_path" if protocol == "vault" else "root"
        config = {"storage.backend": protocol, f"plugins.{protocol}.{option}": str(store)}
        (home / ".agentm-config.json").write_text(json.dumps(config))
        self.environ = {"HOME": str(home), "AGENTM_INSTALL_PREFIX": str(home), "PATH": os.environ["PATH"]}

    def agentm(self, cwd: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments]
        return subprocess.run(
            command, cwd=cwd, env=self.environ, input=text, capture_output=True, text=True, timeout=60, check=False
        )

    def save(self, cwd: Path, text: str) -> str:
        """Save a note the way `agentm save` does, and give the project's name."""
        here = Device.now(self.environ).memory(str(cwd), read_only=False)
        folder = here.claim()
        assert here.backend is not None
        here.backend.write(folder.child("facts", f"{text}.md"), f"{text}\n")
        return folder.name

    def notes(self, cwd: Path) -> list[str]:
        here = Device.now(self.environ).memory(str(cwd))
        assert here.backend is not None
        assert here.project_locator is not None
        return [note.name.removesuffix(".md") for note in here.backend.list(here.project_locator.child("facts"))]

    def notice(self, cwd: Path) -> str | None:
        return Device.now(self.environ).memory(str(cwd)).notice


class Desk:
    """A store, laptops that share it, and repositories."""

    def __init__(self, folder: Path, protocol: str) -> None:
        self.folder = folder
        self.protocol = protocol
        self.store = folder / "store"
        self.one = self.laptop("one")
        if protocol == "vault":
            self.store.mkdir()
            made = self.one.agentm(folder, "vault", "init", str(self.store))
            assert made.returncode == 0, made.stderr
        self.two = self.laptop("two")

    def laptop(self, name: str) -> Laptop:
        return Laptop(self.folder / name, self.store, self.protocol)

    def git(self, directory: Path, *arguments: str) -> None:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        command = ["git", "-c", "protocol.file.allow=always", "-C", str(directory), *arguments]
        subprocess.run(command, env=environ, check=True, capture_output=True, timeout=60)

    def clone(self, name: str, remote: str | None = None) -> Path:
        """A repository with one commit; as good as a clone of what lies at `remote`."""
        root = self.folder / "src" / name
        root.mkdir(parents=True)
        self.git(root, "init", "--quiet")
        self.git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
        if remote:
            self.git(root, "remote", "add", "origin", remote)
        return root


@pytest.fixture(params=["device-local", "vault"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, request.param)


def test_a_fresh_clone_on_a_second_device_is_the_same_project(desk: Desk) -> None:
    assert desk.one.save(desk.clone("widgets", ANA), "first") == "widgets"
    clone = desk.clone("elsewhere", "https://example.com/ana/widgets")
    assert desk.two.notes(clone) == ["first"]
    assert desk.two.save(clone, "second") == "widgets"


def test_a_fork_with_two_remotes_is_the_project_of_its_origin(desk: Desk) -> None:
    original, fork = desk.clone("widgets", ANA), desk.clone("fork/widgets", BEN)
    desk.git(fork, "remote", "add", "upstream", ANA)
    desk.one.save(original, "theirs")
    assert desk.one.notes(fork) == []
    assert desk.one.save(fork, "own") == "ben-widgets"
    assert (desk.one.notes(original), desk.one.notes(fork)) == (["theirs"], ["own"])


@pytest.mark.parametrize("remote", [ANA, None])
def test_worktrees_are_one_project(desk: Desk, remote: str | None) -> None:
    main = desk.clone("widgets", remote)
    desk.git(main, "worktree", "add", "--quiet", str(desk.folder / "fix"))
    desk.one.save(desk.folder / "fix", "from-the-worktree")
    assert desk.one.notes(main) == ["from-the-worktree"]


def test_a_submodule_and_a_part_of_a_monorepo_are_projects_of_their_own(desk: Desk) -> None:
    inner, outer = desk.clone("inner", ANA), desk.clone("outer", "git@example.com:ana/outer.git")
    desk.git(outer, "submodule", "add", "--quiet", str(inner), "vendored")
    desk.git(outer / "vendored", "remote", "set-url", "origin", ANA)
    (outer / "part" / ".harness").mkdir(parents=True)
    names = [desk.one.save(root, root.name) for root in (inner, outer, outer / "part")]
    assert names == ["widgets", "outer", "outer-part"]
    assert desk.one.notes(outer / "vendored") == ["inner"]
    assert desk.two.notes(outer / "part") == ["part"]


def test_a_changed_remote_goes_on_being_the_project_and_can_be_added(desk: Desk) -> None:
    root = desk.clone("widgets", ANA)
    desk.one.save(root, "before")
    desk.git(root, "remote", "set-url", "origin", "git@example.com:team/gadgets.git")
    assert desk.one.notes(root) == ["before"]
    assert desk.one.save(root, "after") == "widgets"
    assert "agentm project register --adopt" in (desk.one.notice(root) or "")

    clone = desk.clone("fresh", "git@example.com:team/gadgets.git")
    assert desk.two.notes(clone) == []
    assert desk.one.agentm(root, "project", "register", "--adopt").stdout == "widgets\n"
    assert desk.one.notice(root) is None
    assert desk.two.notes(clone) == ["after", "before"]


def test_another_repository_cloned_to_the_same_path_is_another_project(desk: Desk) -> None:
    root = desk.clone("widgets", ANA)
    desk.one.save(root, "old")
    shutil.rmtree(root)
    assert desk.one.notes(desk.clone("widgets", BEN)) == []
    shutil.rmtree(root)
    assert desk.one.notes(desk.clone("widgets")) == []


def test_repositories_of_one_name_and_other_owners_have_names_of_their_own(desk: Desk) -> None:
    roots = [desk.clone(f"{owner}/widgets", f"git@example.com:{owner}/widgets.git") for owner in ("ana", "ben")]
    roots.append(desk.clone("third/widgets", "git@example.org:ben/widgets.git"))
    assert [desk.one.save(root, root.parent.name) for root in roots] == ["widgets", "ben-widgets", "widgets-2"]
    for laptop in (desk.one, desk.two):
        assert [laptop.notes(root) for root in roots] == [["ana"], ["ben"], ["third"]]


def test_without_a_remote_the_checkout_is_the_project(desk: Desk) -> None:
    first, second = desk.clone("a/widgets"), desk.clone("b/widgets")
    assert [desk.one.save(root, root.parent.name) for root in (first, second)] == ["widgets", "widgets-2"]
    assert [desk.one.notes(root) for root in (first, second)] == [["a"], ["b"]]
    moved = first.rename(desk.folder / "src" / "renamed")
    assert desk.one.notes(moved) == ["a"]
    assert desk.two.notes(desk.clone("c/widgets")) == []


def test_without_git_two_folders_of_one_name_are_two_projects(desk: Desk) -> None:
    folders = [desk.folder / "src" / parent / "widgets" for parent in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert [desk.one.save(folder, folder.parent.name) for folder in folders] == ["widgets", "widgets-2"]
    assert [desk.one.notes(folder) for folder in folders] == [["a"], ["b"]]
    assert len(json.loads((folders[0] / ".harness" / "project.json").read_text())["checkout"]) == 32


@pytest.mark.parametrize("remotes", [(ANA, ANA), (ANA, BEN), (None, None)])
def test_two_devices_that_claim_at_the_same_time(desk: Desk, remotes: tuple[str | None, str | None]) -> None:
    roots = [desk.clone(f"{number}/widgets", remote) for number, remote in enumerate(remotes)]
    for number in range(5):
        shutil.rmtree(desk.store / "projects", ignore_errors=True)
        shutil.rmtree(desk.store / "_meta" / "remotes", ignore_errors=True)
        with ThreadPoolExecutor(2) as pool:
            saved = [
                *pool.map(lambda pair: pair[0].save(*pair[1:]), zip((desk.one, desk.two), roots, "ab", strict=True))
            ]
        is_one = remotes[0] is not None and remotes[0] == remotes[1]
        assert len({*saved}) == (1 if is_one else 2), number
        assert desk.one.notes(roots[0]) == (["a", "b"] if is_one else ["a"])


@pytest.mark.parametrize("name", ["secret", "unclaimed"])
def test_a_project_file_that_names_another_project_is_not_believed(desk: Desk, name: str) -> None:
    desk.one.save(desk.clone("secret", "git@example.com:ana/secret.git"), "confidential")
    here = Device.now(desk.one.environ).store(read_only=False)
    here.write(Locator("projects/unclaimed/facts/old.md"), "old\n")
    cloned = desk.clone("innocent", "git@example.com:eve/innocent.git")
    (cloned / ".harness").mkdir()
    (cloned / ".harness" / "project.json").write_text(json.dumps({"vault_project": name}))
    if name == "unclaimed":
        with pytest.raises(ConfigError, match="nothing says which repository"):
            desk.one.notes(cloned)
        return
    assert desk.one.notes(cloned) == []
    assert desk.one.save(cloned, "own") == "innocent"
    assert "'secret'" in (desk.one.notice(cloned) or "")


def test_a_store_that_cannot_be_reached_is_an_error_and_nothing_is_claimed(desk: Desk) -> None:
    root = desk.clone("widgets", ANA)
    desk.one.save(root, "first")
    desk.store.rename(desk.folder / "unmounted")
    with pytest.raises(StorageSelectionError):
        desk.one.notes(root)
    with pytest.raises(StorageSelectionError):
        desk.one.save(root, "second")
    assert not desk.store.exists()
    (desk.folder / "unmounted").rename(desk.store)
    assert desk.one.notes(root) == ["first"]


def test_a_conflict_copy_of_the_record_counts(desk: Desk) -> None:
    if desk.protocol != "vault":
        pytest.skip("no other program writes to the default store")
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    desk.one.save(ours, "first")
    folder = desk.store / "projects" / "widgets"
    record = {"version": 1, "id": "00", "remotes": ["example.com/ben/widgets"]}
    (folder / "_project.sync-conflict-20260101-120000-ABCDEFG.json").write_text(json.dumps(record))
    for laptop in (desk.one, desk.two):
        assert (laptop.notes(ours), laptop.notes(theirs)) == (["first"], ["first"])
    assert desk.two.save(theirs, "second") == "widgets"
    united = json.loads((folder / "_project.json").read_text())
    assert united == {"version": 1, "id": "00", "remotes": ["example.com/ana/widgets", "example.com/ben/widgets"]}
    assert desk.one.notes(ours) == ["first", "second"]


# ------------------------------------------------------------------------------------------------ more


def test_the_commands_use_the_project_and_refuse_where_there_is_none(desk: Desk) -> None:
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    arguments = ("save", "--kind", "fact", "--slug", "colour")
    for root, text in ((ours, "blue"), (theirs, "red")):
        saved = desk.one.agentm(root, *arguments, text=text)
        assert saved.returncode == 0, saved.stderr
    changed = desk.one.agentm(theirs, *arguments, "--update", text="green")
    assert changed.stdout == "updated projects/ben-widgets/facts/colour.md\n"
    assert desk.one.agentm(ours, "notes", "show", "colour").stdout.endswith("blue\n")
    home = desk.folder / "one"
    refused = desk.one.agentm(home, *arguments, text="nobody's")
    assert refused.returncode == 1
    assert "is not a project" in refused.stderr
    assert "--personal" in refused.stderr
    assert desk.one.agentm(home, *arguments, "--personal", text="mine").returncode == 0


def test_a_lookup_reads_at_most_four_small_files_of_the_store_and_lists_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = desk.clone("widgets", ANA)
    desk.one.save(root, "first")
    clone = desk.clone("clone", ANA)
    for laptop, place in ((desk.one, root), (desk.two, clone)):
        here = Device.now(laptop.environ).memory(str(place))
        asked: list[str] = []
        kind = type(here.backend)
        for verb in ("read", "list", "exists", "info", "walk"):
            original = getattr(kind, verb)

            def watched(self, locator, original=original, verb=verb, asked=asked):  # type: ignore[no-untyped-def]
                asked.append(f"{verb} {locator}")
                return original(self, locator)

            monkeypatch.setattr(kind, verb, watched)
        assert here.slug == "widgets"
        monkeypatch.undo()
        assert asked[-1] == "read projects/widgets/_project.json"
        assert asked[:-1] in ([], [f"read {pointer_locator('example.com/ana/widgets')}"])


def test_reading_makes_no_id_and_no_record(desk: Desk) -> None:
    root = desk.clone("widgets", ANA)
    assert desk.two.notes(root) == []
    assert not (root / ".git" / "agentm-checkout").exists()
    assert not (desk.store / "projects").exists()


@pytest.mark.parametrize("remote", [ANA, None])
def test_a_renamed_project_is_found_from_the_checkouts_that_knew_its_old_name(desk: Desk, remote: str | None) -> None:
    root = desk.clone("widgets", remote)
    desk.one.save(root, "first")
    renamed = desk.one.agentm(root, "project", "rename", "widgets", "gadgets")
    assert renamed.stdout == "widgets is gadgets now; 1 files moved\n"
    assert desk.one.notes(root) == ["first"]
    assert desk.one.save(root, "second") == "gadgets"
    assert desk.one.notes(desk.clone("other/widgets")) == []


def test_projects_that_are_one_can_be_merged(desk: Desk) -> None:
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    for laptop, root in ((desk.one, ours), (desk.two, theirs)):
        laptop.save(root, root.parent.name)
    merged = desk.one.agentm(ours, "project", "merge", "ben-widgets", "widgets")
    assert merged.stdout == "ben-widgets is part of widgets now; 1 files moved\n"
    for laptop, root in ((desk.one, ours), (desk.two, theirs), (desk.two, ours)):
        assert laptop.notes(root) == ["a", "b"]
    assert desk.two.save(theirs, "c") == "widgets"


def test_state_of_the_store_follows_the_project_too(desk: Desk) -> None:
    if desk.protocol != "vault":
        pytest.skip("state lies in the checkout there")
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    for root in (ours, theirs):
        written = desk.one.agentm(root, "state", "write", "PLAN.md", text=f"the plan of {root.parent.name}\n")
        assert written.returncode == 0, written.stderr
    assert desk.two.agentm(desk.clone("c", BEN), "state", "read", "PLAN.md").stdout == "the plan of b\n"
    assert desk.two.agentm(ours, "state", "read", "PLAN.md").stdout == "the plan of a\n"
