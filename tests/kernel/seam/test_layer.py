"""A layer delegates every verb, so a subclass states its one rule and nothing else."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import (
    ABSENT,
    BackendLayer,
    ConcurrentModificationError,
    DeviceFiles,
    FileStore,
    NotFoundError,
    PersonalSpace,
    StorageBackend,
    TierLayout,
    content_hash,
)
from agentm_kernel.seam.facets import FACETS

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
    configured_elsewhere = {"create", "found_options", "resolve"}
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
    other = BackendLayer(Elsewhere(store.describe()))
    assert other.capabilities == Capabilities(sync=True)
    assert other.tier_layout.source == Locator("notes")


def test_a_layer_hands_out_the_facets_that_it_names_and_no_other(store: FileStore) -> None:
    class Passing(BackendLayer):
        passes = (DeviceFiles,)

    assert store.facet(DeviceFiles) is store
    assert Passing(store).facet(DeviceFiles) is store
    assert BackendLayer(store).facet(DeviceFiles) is None
    assert Passing(BackendLayer(store)).facet(DeviceFiles) is None
    assert Passing(store).facet(PersonalSpace) is None


def test_a_layer_may_answer_for_a_facet_itself_or_wrap_it(store: FileStore) -> None:
    class Own(BackendLayer, DeviceFiles):
        def device_path(self, locator: Locator) -> str:
            return f"own {locator}"

    class Wrapping(BackendLayer):
        passes = (DeviceFiles,)

        def wrap_facet(self, kind: type, found: object) -> object:
            return [kind, found]

    own = Own(store)
    assert own.facet(DeviceFiles) is own
    assert Wrapping(own).facet(DeviceFiles) == [DeviceFiles, own]


def test_a_store_has_no_facet_unless_it_says_so() -> None:
    assert [kind for kind in FACETS if MemoryBackend().facet(kind) is not None] == []
