"""A store that lies elsewhere: hooks read its copy on this device, and wait for no network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from unittest import mock

import pytest
from tests.layer_rules import Recording, check_facets

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import (
    Capabilities,
    Locator,
    harness_state_dir,
    read_state_file,
    resolve_project,
    state_path,
    update_state_file,
    write_state_file,
)
from agentm_kernel.files.swap import SwapPublisher
from agentm_kernel.plugin import (
    ABSENT,
    BackendLayer,
    ConcurrentModificationError,
    ConflictCopies,
    Device,
    DeviceCopy,
    DeviceFiles,
    FileStore,
    Identity,
    MirroredState,
    NotFoundError,
    PluginError,
    Resolution,
    Rules,
    StorageIOError,
    StorageReadOnlyError,
    StoreIdentityError,
    Transfer,
    content_hash,
)
from agentm_kernel.seam.registry import registry
from agentm_kernel.state.files import append_state_file, list_state_files
from agentm_kernel.state.mirror import CopyFolder
from agentm_kernel.state.mirrored import LocalCopy
from agentm_kernel.state.plans import resolve_active_plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Absent, Opening


class NetworkTouched(AssertionError):
    """A hook would have waited here."""


class Elsewhere(MemoryBackend):
    """Its verbs go to the network."""

    network_is_there = True

    def read(self, locator: Locator) -> str:
        self._go_online()
        return super().read(locator)

    def exists(self, locator: Locator) -> bool:
        self._go_online()
        return super().exists(locator)

    def list(self, locator: Locator) -> list[Locator]:
        self._go_online()
        return super().list(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._go_online()
        return super().write(locator, content, if_match=if_match)

    def _go_online(self) -> None:
        if not self.network_is_there:
            raise NetworkTouched


class Bucket(MirroredState):
    elsewhere: ClassVar[Elsewhere]
    """What every opening reaches."""

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        return cls(cls.elsewhere, options["folder"], read_only=opening.read_only)


@pytest.fixture
def copy(device, tmp_path, monkeypatch):
    """The folder with the copy; the network is down."""
    registry.register("bucket", Bucket)
    monkeypatch.setattr(Bucket, "elsewhere", Elsewhere(sync=True), raising=False)
    monkeypatch.setattr(Elsewhere, "network_is_there", False)
    folder = tmp_path / "mirror"
    device.configure(**{"storage.backend": "bucket", "plugins.bucket.folder": str(folder)})
    monkeypatch.chdir(device.project(remote="git@example.com:ana/widgets.git"))
    return folder / "copy"


def test_routing_does_not_go_online(copy):
    place = copy / "projects" / "widgets" / "_harness"

    assert harness_state_dir() == place
    assert state_path(None, "plan") == place / "PLAN.md"
    assert resolve_project(read_only=True).slug == "widgets"
    assert not copy.exists()


def test_hooks_read_the_copy(copy, device):
    place = copy / "projects" / "widgets" / "_harness"
    place.mkdir(parents=True)
    (place / "PLAN-foo.md").write_text("# Foo\n")
    (place.parent / "_project.json").write_text('{"id": "1", "remotes": ["example.com/ana/widgets"]}')
    harness = device.projects / "widgets" / ".harness"
    harness.mkdir()
    (harness / "active-plan").write_text("foo")

    resolution = Device.now().project(read_only=True).on_this_device()

    assert list_state_files(resolution) == ["PLAN-foo.md"]
    assert resolve_active_plan(resolution) == ("PLAN-foo.md", "progress-foo.md")
    assert state_path(None, "plan") == place / "PLAN-foo.md"


def test_a_copy_is_not_written(copy):
    store = Device.now().project(read_only=True).on_this_device().backend

    for change in (
        lambda: store.write(Locator("a.md"), "x"),
        lambda: store.mkdir(Locator("a")),
        lambda: store.delete(Locator("a.md")),
    ):
        with pytest.raises(StorageReadOnlyError, match="copy"):
            change()
    assert not copy.exists()


def test_a_copy_has_the_name_the_promises_and_exactly_these_facets_of_its_store(tmp_path):
    def make(store):
        return LocalCopy(store, str(tmp_path / "copy"))

    check_facets(make, passes={DeviceFiles, DeviceCopy, ConflictCopies, Identity, Rules})
    for flag in Capabilities.__slots__:
        store = Recording(Capabilities(**{flag: True})).store
        assert (make(store).capabilities, make(store).describe()) == (store.capabilities, "the recorder")


def test_whoever_asks_for_the_text_gets_it_from_the_store_itself(copy, monkeypatch):
    resolution = resolve_project(read_only=True)
    with pytest.raises(PluginError, match="NetworkTouched"):
        read_state_file(resolution, "PLAN.md")
    monkeypatch.setattr(Elsewhere, "network_is_there", True)
    own = '{"id": "1", "remotes": ["example.com/ana/widgets"]}'
    Bucket.elsewhere.write(Locator("projects/widgets/_project.json"), own)
    Bucket.elsewhere.write(Locator("projects/widgets/_harness/PLAN.md"), "the plan")

    assert read_state_file(resolution, "PLAN.md") == "the plan"


@pytest.mark.parametrize("verb", ["read", "list", "write", "append", "update"])
def test_a_copy_that_does_not_know_whose_a_name_is_leads_nobody_to_another_project_s_plan(copy, monkeypatch, verb):
    monkeypatch.setattr(Elsewhere, "network_is_there", True)
    monkeypatch.setattr(Elsewhere, "self_stamping", True)
    theirs = Locator("projects/widgets/_harness/PLAN.md")
    record = '{"id": "1", "remotes": ["example.com/ben/widgets"]}'
    Bucket.elsewhere.write(Locator("projects/widgets/_project.json"), record)
    Bucket.elsewhere.write(theirs, "the plan of ben")
    here = resolve_project()
    assert here.slug == "widgets", "as far as the copy knows"
    if verb == "read":
        assert read_state_file(here, "PLAN.md") == ""
    elif verb == "list":
        assert list_state_files(here) == []
    elif verb == "update":
        path = update_state_file(here, "PLAN.md", lambda text: f"{text or ''}ours\n")
    else:
        write = write_state_file if verb == "write" else append_state_file
        path = write(here, "PLAN.md", "ours\n")
    assert Bucket.elsewhere.read(theirs) == "the plan of ben"
    if verb not in ("read", "list"):
        assert str(path) == str(copy / "projects" / "ana-widgets" / "_harness" / "PLAN.md")
        assert read_state_file(resolve_project(), "PLAN.md") == "ours\n"


def test_the_two_views_of_a_project_differ_in_the_store_alone(copy):
    found = Device.now().memory(read_only=True)
    project = Resolution(found.root, found.backend, device=found.device, store_name="team")
    identity = project.identity
    assert not project.is_local_view
    for view, store, is_local in (
        (project.on_this_device(), project.local_view, True),
        (project.in_the_store(), project.backend, False),
    ):
        assert (view.root, view.device, view.store_name) == (project.root, project.device, "team")
        assert (view.backend, view.local_view, view.is_local_view) == (store, store, is_local)
        assert view.identity is identity, "it is looked up once"
    assert isinstance(project.local_view, LocalCopy)


def test_a_store_on_this_device_has_no_copy(synced, monkeypatch):
    monkeypatch.chdir(synced.project())
    resolution = Device.now().project(read_only=True)

    assert resolution.on_this_device() is resolution


# ------------------------------------------------------------------------------------------------ the copy itself

PLAN = Locator("projects/widgets/_harness/PLAN.md")


@pytest.fixture
def store(tmp_path):
    return MirroredState(MemoryBackend(sync=True), str(tmp_path / "mirror"))


def test_the_copy_has_state_records_pointers_and_the_stamp_and_no_note(store, tmp_path):
    mirrored = [
        "_meta/remotes/0badcafe.json",
        "_meta/store.json",
        "personal-projects/old/_harness/PLAN.md",
        "projects/widgets/_harness/PLAN.md",
        "projects/widgets/_harness/deep/note.md",
        "projects/widgets/_project.json",
    ]
    others = [
        "notes/a.md",
        "projects/widgets/decisions/a.md",
        "_meta/other.json",
        "projects/widgets/deep/_project.json",
    ]
    for key in (*mirrored, *others):
        store.inner.write(Locator(key), f"text of {key}")

    store.pull(store)

    files = FileStore(tmp_path / "mirror" / "copy")
    assert sorted(info.locator.key for info in files.walk(Locator()) if not info.is_dir) == mirrored
    assert store.pull(store) == Transfer()
    assert store.stamp_text() == "text of _meta/store.json"


def test_what_is_deleted_through_the_verbs_goes_from_the_copy_unless_it_was_edited(store):
    other = PLAN.parent.child("progress.md")
    for note in (PLAN, other):
        store.write(note, "text")
    path = Path(store.device_path(other))
    path.write_text("edited as a file")

    store.delete(PLAN)
    store.delete(other, if_match=content_hash("text"))

    assert not Path(store.device_path(PLAN)).exists()
    assert path.read_text() == "edited as a file"
    store.push(store)
    assert store.read(other) == "edited as a file"


@pytest.mark.parametrize("condition", [ABSENT, content_hash("older")], ids=["absent", "older"])
def test_a_write_whose_condition_does_not_hold_changes_neither_the_store_nor_the_copy(store, condition):
    store.write(PLAN, "theirs", if_match=ABSENT)
    with pytest.raises(ConcurrentModificationError):
        store.write(PLAN, "ours", if_match=condition)
    assert store.read(PLAN) == Path(store.device_path(PLAN)).read_text() == "theirs"


def test_a_deletion_whose_condition_does_not_hold_changes_neither_the_store_nor_the_copy(store):
    store.write(PLAN, "theirs")
    with pytest.raises(ConcurrentModificationError):
        store.delete(PLAN, if_match=content_hash("older"))
    assert store.read(PLAN) == Path(store.device_path(PLAN)).read_text() == "theirs"


def test_what_another_device_writes_while_this_one_pushes_keeps_its_name(store):
    class Raced(BackendLayer):
        def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
            if store.read(PLAN) == "begin":
                store.inner.write(PLAN, "of another device")
            return super().write(locator, content, if_match=if_match)

    store.write(PLAN, "begin")
    Path(store.device_path(PLAN)).write_text("of this device")

    (kept,) = store.push(Raced(store)).conflicts

    assert store.read(PLAN) == "of another device"
    assert store.read(Locator(kept)) == "of this device"


def test_an_edit_of_the_very_moment_in_which_a_version_is_fetched_stays(store):
    path = Path(store.device_path(PLAN))

    class Raced(BackendLayer):
        def read(self, locator: Locator) -> str:
            if locator == PLAN:
                path.write_text("edited as a file")
            return super().read(locator)

    store.write(PLAN, "begin")
    store.inner.write(PLAN, "of another device")

    store.pull(Raced(store))

    assert path.read_text() == "edited as a file"


def test_a_version_that_loses_twice_does_not_replace_what_became_of_the_first(store):
    def lose(to: str) -> Locator:
        Path(store.device_path(PLAN)).write_text("of this device")
        store.inner.write(PLAN, to)
        (key,) = store.push(store).conflicts
        return Locator(key)

    store.write(PLAN, "begin")
    first = lose("of another device")
    Path(store.device_path(first)).write_text("worked on")
    second = lose("of yet another device")

    assert (store.read(first), store.read(second)) == ("worked on", "of this device")


def test_versions_that_lost_are_listed_by_the_file_that_they_are_versions_of(store):
    others = [PLAN.parent.child(name) for name in ("progress.md", "PLAN-next.md", "a.md")]
    for note in (PLAN, *others):
        store.write(note, "begin")
        Path(store.device_path(note)).write_text("of this device")
        store.inner.write(note, "of another device")
    store.push(store)
    assert [copy.note for copy in store.conflict_copies(Locator())] == sorted([PLAN, *others])


def test_a_copy_that_a_clock_dates_into_the_future_is_new(store, tmp_path):
    assert store.copy_age() is None
    store.pull(store)
    os.utime(tmp_path / "mirror" / "pulled", (2**32, 2**32))
    assert store.copy_age() == 0.0


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes")
def test_the_copy_and_what_is_remembered_of_it_are_this_user_s_alone(store, tmp_path):
    previous = os.umask(0)
    try:
        store.pull(store)  # of a store that is empty: only that is remembered
        store.write(PLAN, "text")
    finally:
        os.umask(previous)
    made = [*(tmp_path / "mirror").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (*made, tmp_path / "mirror") if path.is_dir()} == {0o700}


def test_versions_that_lost_are_listed_and_read_as_conflict_copies(store):
    store.write(PLAN, "begin")
    Path(store.device_path(PLAN)).write_text("of this device")
    store.inner.write(PLAN, "of another device")

    (kept,) = store.push(store).conflicts

    (copy,) = store.facet(ConflictCopies).conflict_copies(Locator("projects/widgets"))
    assert (copy.note, copy.copy.key, copy.origin) == (PLAN, kept, "agentm")
    assert store.read_copy(copy.copy) == "of this device"
    assert store.conflict_copies(PLAN) == [copy]
    assert store.conflict_copies(Locator("projects/other")) == []
    with pytest.raises(NotFoundError):
        store.read_copy(PLAN)


STAMP = Locator("_meta/store.json")
VERBS = {
    "read": lambda store: store.read(PLAN),
    "list": lambda store: store.list(Locator()),
    "exists": lambda store: store.exists(PLAN),
    "info": lambda store: store.info(PLAN),
    "walk": lambda store: list(store.walk(Locator())),
    "foreign_entries": lambda store: list(store.foreign_entries(Locator())),
    "write": lambda store: store.write(PLAN, "x"),
    "mkdir": lambda store: store.mkdir(PLAN.parent),
    "delete": lambda store: store.delete(PLAN),
    "pull": lambda store: store.pull(store),
    "push": lambda store: store.push(store),
    "pull past the layers": lambda store: store.pull(store.inner),
    "push past the layers": lambda store: store.push(store.inner),
    "check_reachable": lambda store: store.check_reachable(2.0),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("there", [None, '{"id": "two"}'], ids=["emptied", "another"])
def test_another_store_in_the_place_of_the_known_one_is_neither_written_nor_read_from(tmp_path, verb, there):
    inner = MemoryBackend(sync=True)
    MirroredState(inner, str(tmp_path)).write(STAMP, '{"id": "one"}')
    inner.delete(STAMP)
    if there is not None:
        inner.write(STAMP, there)
    store = MirroredState(inner, str(tmp_path))
    for _ in range(2):
        with pytest.raises(StoreIdentityError, match="this device knows the store one"):
            VERBS[verb](store)
    assert not inner.exists(PLAN)


def test_a_store_is_looked_at_once_for_many_verbs(tmp_path):
    class Counting(MemoryBackend):
        looks = 0

        def read(self, locator: Locator) -> str:
            self.looks += locator == STAMP
            return super().read(locator)

    inner = Counting(sync=True)
    MirroredState(inner, str(tmp_path)).write(STAMP, '{"id": "one"}')
    store = MirroredState(inner, str(tmp_path))
    for verb in ("list", "exists", "walk", "write", "read", "delete"):
        VERBS[verb](store)
    assert inner.looks == 1


def test_a_copy_whose_store_is_gone_keeps_its_files_and_meets_the_next_one_as_a_stranger(tmp_path):
    inner = MemoryBackend(sync=True)
    store = MirroredState(inner, str(tmp_path))
    store.write(STAMP, '{"id": "one"}')
    store.write(PLAN, "the newest plan")
    for key in (STAMP, PLAN):
        inner.delete(key)
    again = MirroredState(inner, str(tmp_path))
    again.make_place()
    again.write(STAMP, '{"id": "one"}')
    inner.write(PLAN, "the plan of an older checkpoint")
    (kept,) = again.push(again).conflicts
    assert again.read(PLAN) == "the plan of an older checkpoint"
    assert again.read(Locator(kept)) == "the newest plan"


def test_of_two_devices_that_mark_a_store_at_once_the_slower_one_takes_over_the_mark(store):
    store.inner.write(STAMP, '{"id": "theirs"}')
    with pytest.raises(ConcurrentModificationError):
        store.write(STAMP, '{"id": "ours"}', if_match=ABSENT)
    assert store.stamp_text() == '{"id": "theirs"}'


def test_any_other_write_that_is_refused_takes_over_nothing(store):
    store.inner.write(STAMP, '{"id": "theirs"}')
    store.inner.write(PLAN, "theirs")
    with pytest.raises(ConcurrentModificationError):
        store.write(PLAN, "ours", if_match=ABSENT)
    assert store.stamp_text() is None


def test_a_store_that_was_forgotten_is_looked_at_again(tmp_path):
    inner = MemoryBackend(sync=True)
    store = MirroredState(inner, str(tmp_path))
    store.write(STAMP, '{"id": "one"}')
    store.forget_store()
    assert store.fetch_stamp() == '{"id": "one"}'
    inner.write(STAMP, '{"id": "two"}')
    with pytest.raises(StoreIdentityError):
        store.list(Locator())


def test_a_place_is_made_and_reached_where_the_store_lies(tmp_path):
    class Distant(MemoryBackend):
        asked: ClassVar[list[object]] = []

        def make_place(self):
            self.asked.append("made")

        def check_reachable(self, seconds):
            self.asked.append(seconds)
            raise StorageIOError("the network is down")

    store = MirroredState(Distant(sync=True), str(tmp_path))
    store.make_place()
    with pytest.raises(StorageIOError, match="the network is down"):
        store.check_reachable(2.5)
    assert Distant.asked == ["made", 2.5]


def test_a_store_that_cannot_be_reached_in_time_is_not_read_for_its_mark(tmp_path):
    class Distant(MemoryBackend):
        is_down = False

        def check_reachable(self, seconds):
            raise StorageIOError(f"nothing came for {seconds} seconds")

        def read(self, locator: Locator) -> str:
            assert not self.is_down, "it would wait for as long as a network does"
            return super().read(locator)

    inner = Distant(sync=True)
    inner.write(STAMP, '{"id": "one"}')
    store = MirroredState(inner, str(tmp_path))
    assert store.fetch_stamp() == '{"id": "one"}'
    inner.is_down = True
    with pytest.raises(StorageIOError, match=r"nothing came for 2.5 seconds"):
        store.check_reachable(2.5)


def test_a_store_that_was_opened_to_be_read_is_not_asked_when_it_is_written(tmp_path):
    class Untouchable(MemoryBackend):
        def read(self, locator: Locator) -> str:
            raise NetworkTouched

    store = MirroredState(Untouchable(), str(tmp_path / "mirror"), read_only=True)
    for change in (lambda: store.write(PLAN, "x"), lambda: store.mkdir(PLAN), lambda: store.delete(PLAN)):
        with pytest.raises(StorageReadOnlyError):
            change()
    assert not (tmp_path / "mirror").exists()


def test_synchronising_goes_through_the_layers_around_the_store(store):
    class ReadOnly(BackendLayer):
        def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
            raise StorageReadOnlyError("the policy forbids it")

    path = Path(store.device_path(PLAN))
    path.parent.mkdir(parents=True)
    path.write_text("not to be sent")
    with pytest.raises(StorageReadOnlyError):
        store.push(ReadOnly(store))
    assert not store.inner.exists(PLAN)


def test_what_a_killed_process_had_displaced_in_the_copy_is_kept_beside_the_file(store, tmp_path):
    store.write(PLAN, "seen")
    file = Path(store.device_path(PLAN))
    copy = FileStore(store.device_path(Locator()), medium=CopyFolder())
    with mock.patch.object(SwapPublisher, "_settle", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        copy.write(PLAN, "fetched", if_match=content_hash("seen"))
    (swap,) = file.parent.glob(".agentm-*")
    swap.write_text("an edit of that moment")
    MirroredState(store.inner, str(tmp_path / "mirror")).write(PLAN.parent.child("progress.md"), "x")
    assert file.read_text() == "fetched"
    (kept,) = file.parent.glob("PLAN [[]conflict *].md")
    assert kept.read_text() == "an edit of that moment"
    assert not list(file.parent.glob(".agentm-*"))
