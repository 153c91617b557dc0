"""A layer delegates every verb, so a subclass states its one rule and nothing else."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import (
    ABSENT,
    BackendLayer,
    ConcurrentModificationError,
    DeviceFiles,
    FileStore,
    NotFoundError,
    StorageBackend,
    StorageError,
    TierLayout,
    content_hash,
)
from agentm_kernel.seam.layer import unwrap

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path)


@pytest.fixture
def layer(store: FileStore) -> BackendLayer:
    return BackendLayer(BackendLayer(store))


def test_a_layer_overrides_every_verb_of_the_seam() -> None:
    """A verb that is added to the seam and forgotten here would run its default instead of the store's own."""
    configured_elsewhere = {"create", "resolve"}
    public = {
        name
        for name, member in inspect.getmembers(StorageBackend)
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    }
    assert public - configured_elsewhere <= set(vars(BackendLayer))


def test_writing_verbs_reach_the_store(layer: BackendLayer, store: FileStore) -> None:
    note = Locator("a/b.md")
    assert layer.write(note, "x", if_match=ABSENT) == note
    assert store.read(note) == "x"
    with pytest.raises(ConcurrentModificationError):
        layer.write(note, "y", if_match=ABSENT)
    assert layer.mkdir(Locator("c")) == Locator("c")
    assert store.info(Locator("c")).is_dir
    with pytest.raises(ConcurrentModificationError):
        layer.delete(note, if_match=content_hash("other"))
    layer.delete(note, if_match=content_hash("x"))
    assert not store.exists(note)


def test_reading_verbs_give_the_store_s_answers(layer: BackendLayer, store: FileStore) -> None:
    note = store.write(Locator("a/b.md"), "x")
    assert layer.read(note) == "x"
    assert layer.exists(note)
    assert layer.info(note) == store.info(note)
    assert layer.list(Locator("a")) == [note]
    assert list(layer.walk(Locator())) == list(store.walk(Locator()))
    with pytest.raises(NotFoundError):
        layer.read(Locator("absent"))


def test_what_a_store_says_about_itself_passes_through(layer: BackendLayer, store: FileStore) -> None:
    class Elsewhere(FileStore):
        @property
        def capabilities(self) -> Capabilities:
            return Capabilities(sync=True)

        @property
        def tier_layout(self) -> TierLayout:
            return TierLayout(source=Locator("notes"))

    assert layer.describe() == store.describe()
    assert layer.device_path(Locator("a.md")) == store.device_path(Locator("a.md"))
    other = BackendLayer(Elsewhere(store.describe()))
    assert other.capabilities == Capabilities(sync=True)
    assert other.tier_layout.source == Locator("notes")


def test_a_layer_over_a_store_without_files_has_no_device_path() -> None:
    class Remote(StorageBackend):
        capabilities = Capabilities()
        read = write = list = exists = info = mkdir = None  # type: ignore[assignment]

    assert not issubclass(Remote, DeviceFiles)
    with pytest.raises(StorageError, match="Remote has no files"):
        BackendLayer(Remote()).device_path(Locator("a"))


def test_unwrap_finds_the_backend_that_the_plugin_made(layer: BackendLayer, store: FileStore) -> None:
    assert unwrap(layer) is store
    assert unwrap(store) is store
