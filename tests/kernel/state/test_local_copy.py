"""A store that lies elsewhere: hooks read its copy on this host, and wait for no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator, harness_state_dir, read_state_file, resolve_project, state_path
from agentm_kernel.plugin import (
    Device,
    DeviceCopy,
    PluginError,
    StorageReadOnlyError,
    list_state_files,
    resolve_active_plan,
    unwrap,
)
from agentm_kernel.seam.registry import registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Absent


class NetworkTouched(AssertionError):
    """A hook would have waited here."""


class Bucket(MemoryBackend, DeviceCopy):
    """Its verbs go to the network. The copy is a folder."""

    network_is_there = True
    only: Bucket | None = None

    @classmethod
    def create(cls, options: Mapping[str, Any], device: object, opening: object) -> Self:
        cls.only = cls.only or cls(sync=True)
        cls.only.copy = options["copy"]
        return cls.only

    def device_path(self, locator: Locator) -> str:
        return "/".join((self.copy, *locator.parts))

    def stamp_text(self) -> str | None:
        return '{"id": "bucket", "layout": 1}'

    def pull(self) -> None:
        raise NetworkTouched

    push = pull

    def copy_age(self) -> float | None:
        return 240.0

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


@pytest.fixture
def copy(device, tmp_path, monkeypatch):
    """The folder with the copy; the network is down."""
    registry.register("bucket", Bucket)
    monkeypatch.setattr(Bucket, "network_is_there", False)
    folder = tmp_path / "copy"
    device.configure(**{"storage.backend": "bucket", "plugins.bucket.copy": str(folder)})
    monkeypatch.chdir(device.project())
    return folder


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
    harness = device.projects / "widgets" / ".harness"
    harness.mkdir()
    (harness / "active-plan").write_text("foo")

    resolution = Device.now().project().on_this_device()

    assert list_state_files(resolution) == ["PLAN-foo.md"]
    assert resolve_active_plan(resolution) == ("PLAN-foo.md", "progress-foo.md")
    assert state_path(None, "plan") == place / "PLAN-foo.md"


def test_a_copy_is_not_written(copy):
    store = Device.now().project().on_this_device().backend

    for change in (
        lambda: store.write(Locator("a.md"), "x"),
        lambda: store.mkdir(Locator("a")),
        lambda: store.delete(Locator("a.md")),
    ):
        with pytest.raises(StorageReadOnlyError, match="copy"):
            change()
    assert not copy.exists()


def test_whoever_asks_for_the_text_gets_it_from_the_store_itself(copy, monkeypatch):
    resolution = resolve_project(read_only=True)
    with pytest.raises(PluginError, match="NetworkTouched"):
        read_state_file(resolution, "PLAN.md")
    monkeypatch.setattr(Bucket, "network_is_there", True)
    unwrap(resolution.backend).write(Locator("projects/widgets/_harness/PLAN.md"), "the plan")

    assert read_state_file(resolution, "PLAN.md") == "the plan"


def test_a_store_on_this_device_has_no_copy(synced, monkeypatch):
    monkeypatch.chdir(synced.project())
    resolution = Device.now().project()

    assert resolution.on_this_device() is resolution
