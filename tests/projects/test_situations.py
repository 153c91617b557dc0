"""The situations of `docs/explanation/projects.md`: each with a real store, the real git, and devices of its own.

A device is a home of its own with the same store configured. Notes are saved and listed the way the commands do it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import tests.faults  # noqa: F401 - finds the servers, which lie beside the plugins' own tests
from agentm_bucket.backend import BucketBackend
from agentm_git.backend import GitStore
from agentm_git.setup import set_up as set_up_clone
from agentm_kernel import AgentmError, Locator
from agentm_kernel.plugin import ConfigError, Device, Opening, SyncTrigger, WorkingCopy, adopt_store
from agentm_kernel.projects.lookup import pointer_locator
from agentm_obsidian_vault.setup import set_up as set_up_vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from bucket_servers import Server

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ANA, BEN = "git@example.com:ana/widgets.git", "https://example.com/ben/widgets"


class Laptop:
    """One device: what its agents save, and what they are shown. `home` has the configuration already."""

    def __init__(self, home: Path, variables: Mapping[str, str], exchange: Callable[[], object]) -> None:
        self.environ = {
            "HOME": str(home),
            "AGENTM_INSTALL_PREFIX": str(home),
            "PATH": os.environ["PATH"],
            "AGENTM_PATIENCE": "30",
            **variables,
        }
        self.exchange = exchange
        """Bring the device and the others up to date, where nothing else does."""

    def agentm(self, cwd: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments]
        return subprocess.run(
            command, cwd=cwd, env=self.environ, input=text, capture_output=True, text=True, timeout=60, check=False
        )

    def device(self) -> Device:
        return Device.now(self.environ)

    def save(self, cwd: Path, text: str) -> str:
        """Save a note the way `agentm save` does, and give the project's name."""
        self.exchange()
        name = self.save_alone(cwd, text)
        self.exchange()
        return name

    def save_alone(self, cwd: Path, text: str) -> str:
        here = self.device().memory(str(cwd), read_only=False)
        folder = here.claim()
        assert here.backend is not None
        here.backend.write(folder.child("facts", f"{text}.md"), f"{text}\n")
        return folder.name

    def notes(self, cwd: Path) -> list[str]:
        """What `agentm notes list` would show: nothing as long as the place is not this project's."""
        self.exchange()
        here = self.device().memory(str(cwd)).in_the_store()
        if not here.is_claimed:
            return []
        assert here.backend is not None
        assert here.project_locator is not None
        return [note.name.removesuffix(".md") for note in here.backend.list(here.project_locator.child("facts"))]

    def notice(self, cwd: Path) -> str | None:
        self.exchange()
        return self.device().memory(str(cwd)).in_the_store().notice


class Desk:
    """A store, two laptops that share it, and repositories."""

    protocol = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.one, self.two = self.laptop("one"), self.laptop("two")

    def laptop(self, name: str) -> Laptop:
        raise NotImplementedError

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """While the store cannot be had, as far as the first laptop can tell."""
        raise NotImplementedError

    def configured(self, name: str, options: dict[str, str]) -> Path:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        plugin = {f"plugins.{self.protocol}.{option}": value for option, value in options.items()}
        (home / ".agentm-config.json").write_text(json.dumps({"storage.backend": self.protocol, **plugin}))
        return home

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


class OneFolder(Desk):
    """Both laptops see one folder at once: the default store, on two accounts of one machine."""

    protocol, option = "device-local", "root"

    def laptop(self, name: str) -> Laptop:
        return Laptop(self.configured(name, {self.option: str(self.store)}), {}, lambda: None)

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        elsewhere = self.store.rename(self.folder / "unmounted")
        yield
        assert not self.store.exists()
        elsewhere.rename(self.store)


class Vault(OneFolder):
    protocol, option = "vault", "vault_path"

    def laptop(self, name: str) -> Laptop:
        laptop = super().laptop(name)
        self.store.mkdir(exist_ok=True)
        set_up_vault(str(self.store), adopt=True, environ=laptop.environ)
        return laptop


class Clones(Desk):
    """Each laptop has a clone, and pushes and pulls before and after it is used."""

    protocol = "git"

    def laptop(self, name: str) -> Laptop:
        origin, root = self.folder / "origin.git", self.folder / f"{name}.clone"
        if not origin.exists():
            origin.mkdir()
            self.git(origin, "init", "--quiet", "--bare", "--initial-branch", "main")
        home = self.configured(name, {"root": str(root), "remote": str(origin)})
        laptop = Laptop(home, {}, lambda: self._sync(laptop))
        set_up_clone(str(root), str(origin), adopt=True, environ=laptop.environ, options={"branch": "main"})
        return laptop

    def _sync(self, laptop: Laptop) -> None:
        store = laptop.device().store(read_only=False).facet(WorkingCopy)
        assert isinstance(store, GitStore)
        store.sync(SyncTrigger("manual"))

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        elsewhere = (self.folder / "one.clone").rename(self.folder / "unmounted")
        yield
        assert not (self.folder / "one.clone").exists()
        elsewhere.rename(self.folder / "one.clone")


class Bucket(Desk):
    """One place in a bucket of a real server."""

    protocol = "bucket"

    def __init__(self, folder: Path, server: Server) -> None:
        from bucket_servers import BUCKET

        self.server = server
        self.options = {"bucket": BUCKET, "prefix": f"test/{uuid.uuid4().hex[:12]}", "endpoint": server.endpoint}
        super().__init__(folder)

    def laptop(self, name: str) -> Laptop:
        laptop = Laptop(self.configured(name, self.options), self.server.environ, lambda: None)
        device = laptop.device()
        opened = BucketBackend.create(self.options, device, Opening(state_dir=device.state_dir))
        adopt_store(device, opened, self.protocol)
        opened.pull(opened)
        return laptop

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """The same place, as far as the configuration can tell, and nobody listens."""
        self.configured("one", {**self.options, "endpoint": "http://127.0.0.1:9", "deadline": "1"})
        yield
        self.configured("one", self.options)


FILES = ("device-local", "vault")
DESKS = {"device-local": OneFolder, "vault": Vault, "git": Clones}


@pytest.fixture(scope="session")
def bucket_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from bucket_servers import ServerMissingError, running

    try:
        with running("seaweedfs", str(tmp_path_factory.mktemp("seaweedfs"))) as started:
            yield started.server
    except ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(params=[*DESKS, "bucket"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    if request.param == "bucket":
        return Bucket(tmp_path, request.getfixturevalue("bucket_server"))
    return DESKS[request.param](tmp_path)


on_files = pytest.mark.parametrize("desk", FILES, indirect=True)
"""For what is the same code on every store."""


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


@on_files
@pytest.mark.parametrize("kind", ["repository", "folder"])
@pytest.mark.parametrize("where", ["another device", "this one, which lost its records"])
def test_a_checkout_without_a_remote_that_nobody_remembers_is_asked_about(desk: Desk, kind: str, where: str) -> None:
    """A folder that is synchronised between two laptops, or a container that does not keep the home directory."""
    root = desk.clone("widgets") if kind == "repository" else desk.folder / "src" / "widgets"
    root.mkdir(parents=True, exist_ok=True)
    desk.one.save(root, "first")
    laptop = desk.two
    if where != "another device":
        laptop = desk.one
        shutil.rmtree(os.path.join(laptop.device().state_dir, "stores"))

    for ask in (laptop.notes, lambda cwd: laptop.save(cwd, "second")):
        with pytest.raises(ConfigError, match="this may be the project 'widgets' of the store"):
            ask(root)
    said = laptop.agentm(root, "hook", "session-start").stdout
    assert "project register --adopt" in said
    assert laptop.agentm(root, "project", "register", "--adopt").stdout == "widgets\n"

    assert laptop.save(root, "second") == "widgets"
    assert laptop.notes(root) == ["first", "second"]


@on_files
@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_a_copy_without_a_remote_is_a_project_of_its_own(desk: Desk, kind: str) -> None:
    root, copied = desk.folder / "src" / "widgets", desk.folder / "src" / "copied"
    if kind == "repository":
        desk.clone("widgets")
    else:
        root.mkdir(parents=True)
    desk.one.save(root, "first")
    shutil.copytree(root, copied)
    assert desk.one.notes(copied) == []
    assert desk.one.save(copied, "second") == "copied"
    assert [desk.one.notes(place) for place in (root, copied)] == [["first"], ["second"]]


@on_files
def test_a_copy_that_gets_another_remote_is_another_project(desk: Desk) -> None:
    root = desk.clone("template", ANA)
    desk.one.save(root, "first")
    copied = desk.folder / "src" / "copied"
    shutil.copytree(root, copied)
    assert desk.one.notes(copied) == ["first"]
    desk.git(copied, "remote", "set-url", "origin", BEN)
    assert desk.one.notes(copied) == []
    assert desk.one.save(copied, "second") != desk.one.save(root, "third")


def test_a_folder_that_becomes_a_repository_goes_on_being_the_project(desk: Desk) -> None:
    folder = desk.folder / "src" / "widgets"
    folder.mkdir(parents=True)
    desk.one.save(folder, "before")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    assert desk.one.notes(folder) == ["before"]
    subprocess.run(["git", "remote", "add", "origin", ANA], cwd=folder, check=True)
    assert desk.one.notes(folder) == ["before"]
    assert desk.one.save(folder, "since") == "widgets"
    assert desk.two.notes(desk.clone("there/widgets", ANA)) == ["before", "since"]
    assert desk.one.notes(desk.clone("ben/widgets", BEN)) == []


def test_a_repository_that_brings_the_id_of_a_folder_is_not_believed(desk: Desk) -> None:
    folder = desk.folder / "src" / "widgets"
    folder.mkdir(parents=True)
    desk.one.save(folder, "mine")
    for remote in (BEN, None):
        clone = desk.clone(f"{remote and 'ben'}/widgets", remote)
        (clone / ".harness").mkdir()
        shutil.copy(folder / ".harness" / "project.json", clone / ".harness")
        assert desk.one.notes(clone) == []


@pytest.mark.parametrize("owners", ["aa", "ab", "  "], ids=["one repository", "two", "no remotes"])
def test_two_devices_that_claim_at_the_same_time(desk: Desk, owners: str) -> None:
    for number in range(3):
        remotes = [f"git@example.com:{owner}/w{number}.git" if owner.strip() else None for owner in owners]
        roots = [desk.clone(f"{number}{side}/w{number}", remote) for side, remote in enumerate(remotes)]
        with ThreadPoolExecutor(2) as pool:
            saved = [*pool.map(Laptop.save_alone, (desk.one, desk.two), roots, "ab")]
        is_one = owners == "aa"
        if desk.protocol != "git":  # clones that claim one name before they have met share it from then on
            assert len({*saved}) == (1 if is_one else 2), number
            assert desk.one.notes(roots[0]) == (["a", "b"] if is_one else ["a"])
        for laptop in (desk.one, desk.two):
            laptop.exchange()
        for laptop, root, note in zip((desk.one, desk.two), roots, "ab", strict=True):
            assert laptop.notes(root) == ["a", "b"] if is_one else note in laptop.notes(root), number


@pytest.mark.parametrize("have_met", [False, True])
@pytest.mark.parametrize("desk", ["git"], indirect=True)
def test_a_name_that_two_clones_claimed_and_one_of_the_projects_has_left(desk: Desk, have_met: bool) -> None:
    laptops, roots = (desk.one, desk.two), [desk.clone(f"{side}/widgets", None) for side in "ab"]
    for laptop, root, note in zip(laptops, roots, "ab", strict=True):
        laptop.save_alone(root, note)
    for laptop in (*laptops, *laptops) if have_met else ():
        laptop.exchange()
    desk.one.agentm(roots[0], "project", "rename", "widgets", "gadgets")
    for laptop in (*laptops, *laptops):
        laptop.exchange()
    for laptop, root, note in zip(laptops, roots, "ab", strict=True):
        assert laptop.notes(root) == (["a", "b"] if have_met else [note])


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
    root, other = desk.clone("widgets", ANA), desk.clone("other", BEN)
    desk.one.save(root, "first")
    desk.one.exchange = lambda: None
    with desk.unreachable():
        for place in (root, other):
            with pytest.raises(AgentmError):
                desk.one.notes(place)
            with pytest.raises(AgentmError):
                desk.one.save(place, "second")
    assert desk.one.notes(root) == ["first"]
    assert desk.two.notes(other) == []


@pytest.mark.parametrize("remote", [ANA, None])
@pytest.mark.parametrize("desk", ["vault"], indirect=True)
def test_a_conflict_copy_of_the_record_counts(desk: Desk, remote: str | None) -> None:
    ours, theirs = desk.clone("a/widgets", remote), desk.clone("b/widgets", BEN)
    desk.one.save(ours, "first")
    folder = desk.store / "projects" / "widgets"
    own = json.loads((folder / "_project.json").read_text())["id"]
    record = {"version": 1, "id": "00", "remotes": ["example.com/ben/widgets"]}
    (folder / "_project.sync-conflict-20260101-120000-ABCDEFG.json").write_text(json.dumps(record))
    for laptop in (desk.one, desk.two) if remote else (desk.one,):
        assert (laptop.notes(ours), laptop.notes(theirs)) == (["first"], ["first"])
    assert desk.two.save(theirs, "second") == "widgets"
    united = json.loads((folder / "_project.json").read_text())
    remotes = ["example.com/ana/widgets"] * bool(remote) + ["example.com/ben/widgets"]
    assert united == {"version": 1, "id": "00", "ids": ["00", own], "remotes": remotes}
    assert desk.one.notes(ours) == ["first", "second"]


@pytest.mark.parametrize("desk", ["vault"], indirect=True)
@pytest.mark.parametrize("wins", ["who left", "who came"])
def test_a_name_that_one_left_while_another_took_it_is_only_the_others(desk: Desk, wins: str) -> None:
    """Of the two records, a sync tool lets one keep the name; each project keeps its notes, and sees no others."""
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    record = desk.store / "projects" / "widgets" / "_project.json"
    copy = record.with_name("_project.sync-conflict-20260101-120000-ABCDEFG.json")
    desk.one.save(ours, "first")
    assert desk.one.agentm(ours, "project", "rename", "widgets", "gadgets").returncode == 0
    left = record.read_text()
    shutil.rmtree(record.parent)  # the other device has not heard of any of it
    assert desk.two.save(theirs, "second") == "widgets"
    came = record.read_text()
    for file, text in zip((record, copy), (left, came) if wins == "who left" else (came, left), strict=True):
        file.write_text(text)
    for laptop in (desk.one, desk.two):
        assert (laptop.notes(ours), laptop.notes(theirs)) == (["first"], ["second"])
        assert "left behind" not in laptop.agentm(theirs, "doctor").stdout
    assert desk.two.save(theirs, "third") == "widgets"
    assert desk.one.save(ours, "fourth") == "gadgets"
    assert (desk.one.notes(ours), desk.one.notes(theirs)) == (["first", "fourth"], ["second", "third"])


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
    is_shared = desk.protocol not in FILES  # what is the operator's own is not saved where others read it
    assert desk.one.agentm(home, *arguments, "--personal", text="mine").returncode == is_shared


@on_files
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


@on_files
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
    assert renamed.stdout == "widgets is gadgets now; 1 file moved\n"
    assert desk.one.notes(root) == ["first"]
    assert desk.one.save(root, "second") == "gadgets"
    assert desk.one.notes(desk.clone("other/widgets")) == []


def test_projects_that_are_one_can_be_merged(desk: Desk) -> None:
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    for laptop, root in ((desk.one, ours), (desk.two, theirs)):
        laptop.save(root, root.parent.name)
    desk.one.exchange()
    merged = desk.one.agentm(ours, "project", "merge", "ben-widgets", "widgets")
    assert merged.stdout == "ben-widgets is part of widgets now; 1 file moved\n"
    for laptop, root in ((desk.one, ours), (desk.two, theirs), (desk.two, ours)):
        assert laptop.notes(root) == ["a", "b"]
    assert desk.two.save(theirs, "c") == "widgets"


@pytest.mark.parametrize("desk", ["vault", "git", "bucket"], indirect=True)
def test_state_of_the_store_follows_the_project_too(desk: Desk) -> None:
    ours, theirs = desk.clone("a/widgets", ANA), desk.clone("b/widgets", BEN)
    for root in (ours, theirs):
        written = desk.one.agentm(root, "state", "write", "PLAN.md", text=f"the plan of {root.parent.name}\n")
        assert written.returncode == 0, written.stderr
    for laptop in (desk.one, desk.two):
        laptop.exchange()
    assert desk.two.agentm(desk.clone("c", BEN), "state", "read", "PLAN.md").stdout == "the plan of b\n"
    assert desk.two.agentm(ours, "state", "read", "PLAN.md").stdout == "the plan of a\n"
