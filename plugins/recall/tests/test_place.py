"""The index lies in the cache of this device, one per store, and never inside a store."""

from __future__ import annotations

import importlib.metadata
import os

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import BackendLayer, Device, FileStore, Opening, StorageBackend, TierLayout
from agentm_recall import RecallIndex
from agentm_recall.index.place import NoPlace, has_beside, index_path

STAMP = '{"id": "IDENTITY", "created": "2025-01-01", "layout": 1}'


def stamped(identity="some-id"):
    store = MemoryBackend()
    store.write(Locator("_meta/store.json"), STAMP.replace("IDENTITY", identity))
    return store


def test_one_index_per_store_under_the_cache_directory(tmp_path):
    environ = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    path = index_path(stamped(), environ)

    assert path == str(tmp_path / "cache/agentm/stores/some-id/local-index/notes-3.sqlite3")
    assert index_path(stamped("other"), environ) != path
    assert not os.path.exists(tmp_path / "cache")


def test_a_backend_with_a_layout_of_its_own_is_heard(tmp_path):
    class Other(MemoryBackend):
        @property
        def tier_layout(self):
            return TierLayout(local_index=Locator("somewhere/else"))

    store = Other()
    store.write(Locator("_meta/store.json"), STAMP)

    assert "/somewhere/else/" in index_path(BackendLayer(store), {"HOME": str(tmp_path)})


@pytest.mark.parametrize("identity", ["../../../etc", "a/b", "x" * 500, "ü", "..", "a b"])
def test_an_identity_cannot_lead_out_of_the_cache(tmp_path, identity):
    path = index_path(stamped(identity), {"HOME": str(tmp_path)})

    assert os.path.realpath(path).startswith(str(tmp_path / ".cache/agentm/stores/"))
    assert os.path.relpath(path, tmp_path / ".cache/agentm/stores").count(os.sep) == 2


def test_a_store_without_identity_gets_no_index(tmp_path):
    with pytest.raises(NoPlace, match="identity"):
        index_path(MemoryBackend(), {"HOME": str(tmp_path)})


def test_an_encrypted_store_that_cannot_seal_gets_no_index(tmp_path):
    class Encrypted(BackendLayer):
        @property
        def capabilities(self):
            return Capabilities(encryption=True)

    store = stamped()
    store.write(Locator("personal/facts/a.md"), "# Hidden quokka\n")
    with pytest.raises(NoPlace, match="encrypted"):
        index_path(Encrypted(store), {"HOME": str(tmp_path)})
    with RecallIndex(Encrypted(store), {"HOME": str(tmp_path)}).opened(may_write=True) as opened:
        assert "encrypted" in opened.notices[0]
        assert opened.database.count() == 1
    assert list(tmp_path.iterdir()) == []


def test_a_cache_inside_the_store_is_refused(home, store):
    for cache in (home.root / "cache", home.root / "projects"):
        with pytest.raises(NoPlace, match="inside the store"):
            index_path(store, {**home.environ, "XDG_CACHE_HOME": str(cache)})
    link = home.path / "link"
    link.symlink_to(home.root)
    with pytest.raises(NoPlace, match="inside the store"):
        index_path(store, {**home.environ, "XDG_CACHE_HOME": str(link)})


def installed_file_stores():
    """Every installed backend that keeps its notes as files of a folder."""
    for entry in importlib.metadata.entry_points(group="agentm.backends"):
        backend = entry.load()
        if issubclass(backend, FileStore):
            yield pytest.param(backend, id=entry.name)


@pytest.mark.parametrize("backend", list(installed_file_stores()))
def test_over_every_backend_no_file_of_the_index_is_in_the_store(tmp_path, backend):

    root = tmp_path / "store"
    root.mkdir()
    options = {name: str(value).replace("{scratch}", str(root)) for name, value in backend.scratch_options.items()}
    environ = {"HOME": str(tmp_path / "home"), "AGENTM_DEVICE_LOCAL_ROOT": str(root)}
    store: StorageBackend = backend.create(
        options, Device({**environ, "HOME": str(tmp_path)}), Opening(state_dir=str(tmp_path / "state"))
    )
    store.write(Locator("_meta/store.json"), STAMP)
    store.write(Locator("personal/facts/a.md"), "# A quokka\n")
    before = sorted(str(file) for file in root.rglob("*"))

    index = RecallIndex(store, environ)
    index.rebuild()
    index.update()

    assert sorted(str(file) for file in root.rglob("*")) == before
    assert not os.path.realpath(index.path()).startswith(os.path.realpath(root) + os.sep)


def test_what_lies_beside_an_index_is_asked_for_only_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = str(tmp_path / "notes.sqlite3")
    assert not has_beside(index, "remarks")
    (tmp_path / "remarks").mkdir()
    assert has_beside(index, "remarks")
    assert not has_beside("", "remarks")
