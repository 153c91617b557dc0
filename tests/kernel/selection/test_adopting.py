"""Giving a store its identity and selecting it, as the `init` command of a plugin does."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel.device.config import load
from agentm_kernel.device.config_writer import set_value
from agentm_kernel.plugin import (
    Device,
    FileStore,
    StorageIOError,
    StorageSelectionError,
    StoreIdentityError,
    UnidentifiedStore,
    adopt_store,
    check_store,
    open_other,
    read_stamp,
    return_identity,
    select_store,
)
from agentm_kernel.selection.identity import known_id

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "AGENTM_INSTALL_PREFIX": str(home)}


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    (tmp_path / "store").mkdir()
    return FileStore(tmp_path / "store")


def test_an_unmarked_store_has_no_identity_and_asking_gives_it_none(
    store: FileStore, environ: dict[str, str]
) -> None:
    assert check_store(Device(environ), store, "files") is None
    assert read_stamp(store) is None


def test_a_store_is_marked_once_and_known_then(store: FileStore, environ: dict[str, str]) -> None:
    store_id = adopt_store(Device(environ), store, "files")
    assert store_id == read_stamp(store)
    assert adopt_store(Device(environ), store, "files") == store_id
    assert check_store(Device(environ), store, "files") == store_id


def test_a_store_that_this_device_knows_differently_is_neither_identified_nor_marked(
    store: FileStore, tmp_path: Path, environ: dict[str, str]
) -> None:
    adopt_store(Device(environ), store, "files")
    (tmp_path / "store").rename(tmp_path / "unplugged")
    (tmp_path / "store").mkdir()
    empty = FileStore(tmp_path / "store")
    for ask in (check_store, adopt_store):
        with pytest.raises(StoreIdentityError):
            ask(Device(environ), empty, "files")
    assert read_stamp(empty) is None


def test_using_a_store_sets_its_options_and_selects_it(environ: dict[str, str]) -> None:
    select_store(Device(environ), "files", {"root": "/somewhere", "depth": 3})
    config = load(environ)
    assert config.storage_backend == "files"
    assert config.options("files") == {"root": "/somewhere", "depth": 3}


def test_the_default_store_is_not_replaced_by_who_names_a_further_one(
    environ: dict[str, str], tmp_path: Path
) -> None:
    set_value(environ, "stores", {"team": {"backend": "device-local", "path": str(tmp_path / "team")}})
    before = load(environ)
    team = Device(environ).of_store("team")
    for act in (
        lambda: select_store(team, "files", {"root": "/somewhere"}),
        lambda: open_other(team, "device-local"),
    ):
        with pytest.raises(StorageSelectionError, match="would be changed, and not 'team'") as caught:
            act()
        assert "leave --store out" in (caught.value.hint or "")
    after = load(environ)
    assert (after.storage_backend, after.options("files")) == (before.storage_backend, {})


def test_a_store_that_a_policy_names_is_left_on_purpose_only(environ: dict[str, str]) -> None:
    set_value(environ, "storage.policy", "/team/STORAGE.md")

    with pytest.raises(StorageSelectionError, match="names the store of this device already") as caught:
        select_store(Device(environ), "files", {"root": "/somewhere"})

    assert "agentm config unset storage.policy" in caught.value.hint
    assert load(environ).options("files") == {}


def test_a_store_that_is_gone_gets_its_mark_back_and_another_one_does_not(
    store: FileStore, environ: dict[str, str]
) -> None:
    device = Device(environ)
    gone = UnidentifiedStore("files", store, None)
    return_identity(device, gone, "lost-and-found")
    assert read_stamp(store) == check_store(device, store, "files") == "lost-and-found"
    assert known_id(device.state_dir, "files", store.describe()) == "lost-and-found"
    return_identity(device, gone, "lost-and-found")
    for other in (gone, UnidentifiedStore("files", store, "lost-and-found")):
        with pytest.raises(StoreIdentityError, match="is, or was, another store than new") as caught:
            return_identity(device, other, "new")
        assert caught.value.hint == "check the path; `agentm store show` says what is selected"
    assert read_stamp(store) == "lost-and-found"


def test_a_store_that_cannot_be_marked_is_not_known(store: FileStore, environ: dict[str, str]) -> None:
    device = Device(environ)
    with (
        mock.patch.object(store, "write", side_effect=StorageIOError("the disk is full")),
        pytest.raises(StorageIOError),
    ):
        return_identity(device, UnidentifiedStore("files", store, None), "lost-and-found")
    assert known_id(device.state_dir, "files", store.describe()) is None
