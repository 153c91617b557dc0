from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.stubs import LocalStub, SyncedStub
from agentm_kernel import Locator, read_state_file, resolve_project, write_state_file
from agentm_kernel.here import renewed
from agentm_kernel.plugin import ConfigError, Device, Resolution, StorageError, StorageSelectionError
from agentm_kernel.projects.lookup import MOVED_TO_STORE
from agentm_kernel.seam.registry import registry


def test_a_resolution_is_a_mapping_of_exactly_five_keys(synced, monkeypatch):
    root = synced.project()
    monkeypatch.chdir(root)

    resolution = resolve_project()

    assert {**resolution} == {
        "slug": "widgets",
        "project_locator": Locator("projects/widgets"),
        "backend": resolution.backend,
        "project_root": root,
        "layout": "new",
    }
    assert len(resolution) == 5
    with pytest.raises(KeyError):
        resolution["root"]


def test_a_resolution_is_frozen(device, monkeypatch):
    monkeypatch.chdir(device.project())
    resolution = resolve_project()

    with pytest.raises(AttributeError, match="immutable"):
        resolution.root = "/elsewhere"
    with pytest.raises(AttributeError, match="immutable"):
        del resolution.root
    with pytest.raises(TypeError):
        resolution["slug"] = "other"


def test_in_mode_local_nothing_is_selected(device, monkeypatch):
    monkeypatch.chdir(device.project())
    device.configure(**{"storage.backend": "not installed", "state_mode": "local"})

    resolution = resolve_project()

    assert (resolution.backend, resolution.project_locator, resolution.layout) == (None, None, "none")
    assert resolution.slug == "widgets"
    with pytest.raises(StorageError, match="its own folder"):
        _ = resolution.state_locator


def test_a_repository_that_is_local_does_not_need_the_devices_configuration(device, monkeypatch):
    root = device.project()
    monkeypatch.chdir(root)
    device.configure("{ broken")
    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("local")

    assert resolve_project().layout == "none"


@pytest.mark.parametrize(
    ("folders", "layout"),
    [
        ([], "new"),
        (["projects/widgets"], "new"),
        (["personal-projects/widgets"], "legacy"),
        (["projects/widgets", "personal-projects/widgets"], "new"),
    ],
)
def test_the_layout_is_the_older_one_only_where_that_is_all_there_is(synced, monkeypatch, folders, layout):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))
    for folder in folders:
        (synced.store / folder).mkdir(parents=True)
        (synced.store / folder / "_project.json").write_text('{"id": "1", "remotes": ["example.com/ana/widgets"]}')

    resolution = resolve_project()

    place = "personal-projects" if layout == "legacy" else "projects"
    assert (resolution.layout, resolution.project_locator) == (layout, Locator(f"{place}/widgets"))
    assert write_state_file(resolution, "PLAN.md", "x") == synced.store / place / "widgets" / "_harness" / "PLAN.md"


def test_the_working_directory_may_be_given(device):
    root = device.project()
    (root / "src" / "deep").mkdir(parents=True)

    for cwd in (root / "src" / "deep", str(root), f"{root}/src/.."):
        assert resolve_project({"cwd": cwd}).project_root == root


def test_a_directory_that_is_not_there_is_refused(device):
    with pytest.raises(ConfigError, match="not a directory"):
        resolve_project({"cwd": device.projects / "gone"})


def test_a_project_whose_notes_were_moved_to_another_store_is_neither_found_nor_claimed(synced, monkeypatch):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))
    record = {"id": "1", "remotes": ["example.com/ana/widgets"], MOVED_TO_STORE: "team"}
    (synced.store / "projects" / "widgets").mkdir(parents=True)
    (synced.store / "projects" / "widgets" / "_project.json").write_text(json.dumps(record))
    resolution = Device.now().project(read_only=False)
    for ask in (lambda: resolution.place, resolution.claim):
        with pytest.raises(StorageSelectionError, match="'widgets' are in another store, team") as refused:
            ask()
        assert "use-store" in (refused.value.hint or "")
    assert not resolution.is_settled


@pytest.mark.parametrize("mode", ["local", "backend"])
def test_a_resolution_knows_the_device_that_it_was_found_on(synced, monkeypatch, mode):
    monkeypatch.chdir(synced.project())
    synced.uses("stub", state_mode=mode)
    device = Device.now()
    assert device.project().device is device
    assert device.memory().device is device


@pytest.mark.parametrize("kind", [LocalStub, SyncedStub])
def test_only_state_in_the_checkout_does_without_a_store_that_can_be_written(device, monkeypatch, kind):
    class Sandboxed(kind):
        def check_usable(self, *, read_only):
            if not read_only:
                raise StorageSelectionError("the sandbox lets nobody write here")

    device.found_store("stub")
    monkeypatch.setitem(registry._classes, "sandboxed", Sandboxed)
    device.configure(**{"storage.backend": "sandboxed", "plugins.sandboxed.root": str(device.store)})
    monkeypatch.chdir(device.project())
    if kind is SyncedStub:
        with pytest.raises(StorageSelectionError, match="the sandbox"):
            Device.now().project(read_only=False)
    else:
        assert Device.now().project(read_only=False).is_synced is False
    assert Device.now().project(read_only=True).backend is not None


def test_a_place_is_settled_once_it_was_claimed_and_a_home_is_never_claimed(synced, monkeypatch):
    monkeypatch.chdir(synced.project())
    resolution = Device.now().project(read_only=False)
    assert not resolution.is_settled
    assert resolution.claim() == Locator("projects/widgets")
    assert resolution.is_settled
    before = synced.stored("stub")
    home = Device.now().project(str(synced.home), read_only=False)
    assert (home.place, home.layout) == (None, "none")
    with pytest.raises(ConfigError, match="is not a project"):
        home.claim()
    assert synced.stored("stub") == before


@pytest.mark.parametrize(("bound", "name"), [("example.com/ana/widgets", "team"), ("example.com/ana/other", None)])
def test_a_project_has_the_store_that_it_is_bound_to(synced, monkeypatch, bound, name):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))
    assert Device.now().bound_store() is None
    synced.uses("stub", bindings={bound: {"store": "team"}}, **{"stores.team.backend": "remote"})
    assert Device.now().bound_store() == name


def test_whoever_does_not_say_that_it_writes_only_reads(synced, monkeypatch):
    asked = []
    monkeypatch.setattr(SyncedStub, "check_usable", lambda _, *, read_only: asked.append(read_only))
    monkeypatch.chdir(synced.project())
    device = Device.now()
    for look in (device.store, device.project, device.memory):
        look()
        look(read_only=False)
    assert asked == [True, False] * 3


def test_a_mode_that_nobody_knows_is_refused_with_its_beginning(synced, monkeypatch):
    root = synced.project()
    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("x" * 50)
    monkeypatch.chdir(root)
    with pytest.raises(ConfigError, match=f"says '{'x' * 40}', which is not a state mode"):
        resolve_project()


def test_the_first_write_says_whose_project_it_is(synced, monkeypatch):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))

    write_state_file(resolve_project(), "PLAN.md", "x")

    record = json.loads((synced.store / "projects" / "widgets" / "_project.json").read_text())
    assert record == {"version": 1, "id": record["id"], "remotes": ["example.com/ana/widgets"]}
    (pointer,) = (synced.store / "_meta" / "remotes").iterdir()
    assert json.loads(pointer.read_text()) == {"example.com/ana/widgets": "widgets"}


def test_two_repositories_of_one_name_never_share_a_plan(synced, monkeypatch):
    ours = synced.project("a/widgets", remote="git@example.com:ana/widgets.git")
    theirs = synced.project("b/widgets", remote="git@example.com:ben/widgets.git")
    write_state_file(resolve_project({"cwd": ours}), "PLAN.md", "ours")

    assert read_state_file(resolve_project({"cwd": theirs}), "PLAN.md") == ""
    write_state_file(resolve_project({"cwd": theirs}), "PLAN.md", "theirs")

    assert synced.stored("stub")["projects/ben-widgets/_harness/PLAN.md"] == "theirs"
    assert synced.stored("stub")["projects/widgets/_harness/PLAN.md"] == "ours"


def test_two_repositories_that_were_both_resolved_before_the_first_write_do_not_share_either(synced):
    ours = resolve_project({"cwd": synced.project("a/widgets", remote="git@example.com:ana/widgets.git")})
    theirs = resolve_project({"cwd": synced.project("b/widgets", remote="git@example.com:ben/widgets.git")})
    write_state_file(ours, "PLAN.md", "ours")

    write_state_file(theirs, "PLAN.md", "theirs")

    assert synced.stored("stub")["projects/ben-widgets/_harness/PLAN.md"] == "theirs"
    assert synced.stored("stub")["projects/widgets/_harness/PLAN.md"] == "ours"


def test_a_store_that_a_caller_chose_is_kept_as_long_as_the_mode_is_the_same(synced):
    root = synced.project()
    chosen = Resolution(str(root), MemoryBackend(sync=True))
    assert renewed(chosen) is chosen

    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("local")

    assert renewed(chosen).backend is None


def test_a_resolution_goes_to_the_store_that_its_project_has_been_bound_to_since(synced):
    resolution = resolve_project({"cwd": synced.project(remote="git@example.com:ana/widgets.git")})
    team = {"stores.team.backend": "stub", "stores.team.root": str(synced.store.with_name("team"))}
    synced.store.with_name("team").mkdir()
    synced.uses("stub", **team, bindings={"example.com/ana/widgets": {"store": "team"}})

    assert renewed(resolution).store_name == "team"


def test_a_store_that_a_caller_chose_is_used(tmp_path: Path, device):
    root = device.project()
    backend = MemoryBackend()

    resolution = Resolution(str(root), backend)

    assert resolution.backend is backend
    assert resolution.project_locator == Locator("projects/widgets")
    assert write_state_file(resolution, "PLAN.md", "x") == root / ".harness" / "PLAN.md"
