"""A store folder by folder: the same from every walk, through every layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer, FileStore, StorageBackend
from agentm_kernel.seam.folders import FolderWalk, walk_folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentm_kernel.plugin import Info

KEYS = ("b.md", "a/y/x.md", "a/y/w.md", "a/z.md", "skills/s.md")


class WithoutSkills(BackendLayer):
    """A layer that hides a folder and knows of no other way than the walk."""

    def walk(self, locator: Locator) -> Iterator[Info]:
        return (info for info in super().walk(locator) if not info.locator.key.startswith("skills"))


def _filled(store: StorageBackend) -> StorageBackend:
    for key in KEYS:
        store.write(Locator(key), key)
    return store


def _versions(store: StorageBackend, key: str = "") -> dict[str, str]:
    return {
        folder.info.locator.child(name).key: version
        for folder in walk_folders(store, Locator(key))
        for name, version in folder.versions.items()
    }


def _expected(store: StorageBackend, key: str = "") -> dict[str, str]:
    return {info.locator.key: info.version for info in store.walk(Locator(key)) if not info.is_dir}


def test_a_store_that_only_walks_is_grouped_by_folder() -> None:
    store = _filled(MemoryBackend())
    assert not isinstance(store.walk(Locator()), FolderWalk)
    assert _versions(store) == _expected(store) != {}
    assert [folder.info.locator.key for folder in walk_folders(store, Locator())] == ["", "a", "a/y", "skills"]
    assert _versions(store, "a") == _expected(store, "a") != {}
    assert [*walk_folders(store, Locator("absent")), *walk_folders(store, Locator("b.md"))] == []


def test_a_layer_passes_on_what_the_walk_of_its_store_can_do(tmp_path: Path) -> None:
    layer = BackendLayer(_filled(FileStore(tmp_path)))
    assert isinstance(layer.walk(Locator()), FolderWalk)
    assert _versions(layer) == _expected(layer) != {}


def test_what_a_layer_hides_from_a_walk_is_in_no_folder(tmp_path: Path) -> None:
    layer = WithoutSkills(_filled(FileStore(tmp_path)))
    assert _versions(layer) == _expected(layer)
    assert {key.partition("/")[0] for key in _versions(layer)} == {"a", "b.md"}


def test_a_store_that_only_lists_is_walked_whole_parents_first_and_siblings_by_key() -> None:
    store = _filled(MemoryBackend())
    found = [info.locator.key for info in StorageBackend.walk(store, Locator())]
    assert found == ["a", "a/y", "a/y/w.md", "a/y/x.md", "a/z.md", "b.md", "skills", "skills/s.md"]
    assert [info.locator.key for info in StorageBackend.walk(store, Locator("a/y"))] == ["a/y/w.md", "a/y/x.md"]
