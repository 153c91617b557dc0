"""A store is recognised by its stamp; a place that lost it, or has another, is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.kernel.selection.conftest import Device, make_device

from agentm_kernel import Locator, select_backend, storage_preview
from agentm_kernel.plugin import (
    ABSENT,
    Appends,
    ConcurrentModificationError,
    Device as ThisDevice,
    DeviceFiles,
    FileStore,
    PersonalSpace,
    StoreIdentityError,
    content_hash,
)
from agentm_kernel.selection import IdentityGuard
from agentm_kernel.selection.identity import stamp_store

NOTE = Locator("note.md")


@pytest.fixture
def shared(tmp_path):
    """A folder that a sync tool would share: stamped, and holding one note."""
    from agentm_devkit.conformance.stubs import SyncedStub

    folder = tmp_path / "shared"
    folder.mkdir()
    store = SyncedStub(str(folder))
    stamp_store(store)
    store.write(NOTE, "first\n")
    return folder


def used(device: Device, folder: Path) -> Device:
    """The device, having written to the store once."""
    device.uses_stub(folder)
    select_backend(environ=device.environ).write(NOTE, "again\n")
    return device


def test_a_record_on_a_disk_that_is_not_mounted_is_not_the_absence_of_one(device, shared):
    state = Path(ThisDevice.now(used(device, shared).environ).state_dir)
    state.rename(state.with_name("mounted"))
    state.symlink_to("/nowhere/at/all")
    shutil.rmtree(shared / "_meta")

    with pytest.raises(StoreIdentityError, match="record of known stores.*leads to no folder"):
        select_backend(environ=device.environ)


def test_the_first_write_stamps_the_default_store(device):
    backend = select_backend(environ=device.environ)
    backend.write(NOTE, "hello\n")
    text = (device.home / ".agentm/memory/_meta/store.json").read_text()
    fields = json.loads(text)
    created = datetime.fromisoformat(fields["created"])
    assert (created.tzinfo, created.microsecond) == (UTC, 0)
    assert text == f'{{\n  "id": "{fields["id"]}",\n  "created": "{created.isoformat()}",\n  "layout": 1\n}}\n'
    assert select_backend(environ=device.environ).read(NOTE) == "hello\n"


def test_conditions_of_writes_and_deletions_reach_the_store(device):
    backend = select_backend(environ=device.environ)
    backend.write(NOTE, "theirs\n", if_match=ABSENT)
    for refused in (
        lambda: backend.write(NOTE, "mine\n", if_match=ABSENT),
        lambda: backend.write(NOTE, "mine\n", if_match=content_hash("older\n")),
        lambda: backend.delete(NOTE, if_match=content_hash("older\n")),
    ):
        with pytest.raises(ConcurrentModificationError):
            refused()
    assert backend.read(NOTE) == "theirs\n"


def test_reading_a_stamped_store_records_nothing(device, shared):
    device.uses_stub(shared)
    assert select_backend(environ=device.environ).read(NOTE) == "first\n"
    assert not (device.home / ".local").exists()


def test_a_second_device_joins_a_stamped_store_by_itself(device, shared, tmp_path, monkeypatch):
    used(device, shared)
    second = make_device(tmp_path / "second", monkeypatch)
    used(second, shared)
    assert select_backend(environ=second.environ).read(NOTE) == "again\n"
    assert (second.home / ".local/state/agentm/stores.json").exists()


def test_an_unmounted_folder_is_not_an_empty_store(device, shared):
    used(device, shared)
    shutil.rmtree(shared)
    shared.mkdir()
    for read_only in (True, False):
        with pytest.raises(StoreIdentityError, match="is gone") as caught:
            select_backend(environ=device.environ, read_only=read_only)
    assert "agentm store forget" in caught.value.hint
    assert storage_preview(device.environ).line == str(caught.value)
    assert list(shared.iterdir()) == []


def test_another_store_in_the_same_place_is_refused(device, shared):
    used(device, shared)
    (shared / "_meta/store.json").write_text('{"id": "somebody-else", "created": "now", "layout": 1}')
    with pytest.raises(StoreIdentityError, match="another one"):
        select_backend(environ=device.environ, read_only=True)


def test_an_unmarked_folder_can_be_read_and_not_written(device, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "note.md").write_text("mine\n")
    device.uses_stub(folder)
    backend = select_backend(environ=device.environ)
    assert backend.read(NOTE) == "mine\n"
    assert storage_preview(device.environ).status == "warn"
    for change in (
        lambda: backend.write(NOTE, "yours\n"),
        lambda: backend.mkdir(Locator("folder")),
        lambda: backend.delete(NOTE),
    ):
        with pytest.raises(StoreIdentityError, match="no identity stamp") as caught:
            change()
    assert "init" in caught.value.hint
    assert [path.name for path in folder.iterdir()] == ["note.md"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"id": 5, "layout": 1}', '{"id": "x", "layout": 99}'])
def test_a_stamp_that_cannot_be_understood_is_not_absent(device, shared, text):
    device.uses_stub(shared)
    (shared / "_meta/store.json").write_text(text)
    with pytest.raises(StoreIdentityError):
        select_backend(environ=device.environ, read_only=True)


def test_a_store_of_a_later_layout_is_left_to_a_later_agentm(device, shared):
    device.uses_stub(shared)
    (shared / "_meta/store.json").write_text('{"id": "x", "layout": 99}')
    with pytest.raises(StoreIdentityError, match="has layout 99; this agentm knows layout 1") as caught:
        select_backend(environ=device.environ)
    assert caught.value.hint == "install the agentm that made the store, or a newer one"


def test_a_record_that_cannot_be_understood_is_not_absent(device, shared):
    used(device, shared)
    (device.home / ".local/state/agentm/stores.json").write_text("garbage")
    with pytest.raises(StoreIdentityError, match="stores.json") as caught:
        select_backend(environ=device.environ, read_only=True)
    assert "repair or move that file away" in caught.value.hint


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)], ids=["fifo", "folder", "loop"]
)
def test_a_record_of_stores_that_is_no_file_is_refused_without_waiting(device, shared, make):
    used(device, shared)
    record = device.home / ".local/state/agentm/stores.json"
    record.unlink()
    make(record)
    with pytest.raises(StoreIdentityError, match="stores.json cannot be read"):
        select_backend(environ=device.environ)


def test_two_who_stamp_at_once_agree(tmp_path):
    from agentm_devkit.conformance.stubs import SyncedStub

    folder = tmp_path / "store"
    folder.mkdir()

    class Late(SyncedStub):
        """Looks before another device stamps, writes after."""

        looked = False

        def stamp_text(self):
            if not self.looked:
                self.looked = True
                self.other = stamp_store(SyncedStub(str(folder)))
                return None
            return super().stamp_text()

    late = Late(str(folder))
    assert stamp_store(late) == late.other


def test_a_store_replaced_while_it_is_open_is_refused(device, shared, tmp_path):
    used(device, shared)
    backend = select_backend(environ=device.environ)
    assert backend.read(NOTE) == "again\n"
    shared.rename(tmp_path / "moved")
    shared.mkdir()
    with pytest.raises(StoreIdentityError, match="replaced or unmounted"):
        backend.write(NOTE, "lost\n")
    assert list(shared.iterdir()) == []


class Personal(FileStore, PersonalSpace):
    looks = 0

    def stamp_text(self):
        self.looks += 1
        return super().stamp_text()

    def personal_path(self, path):
        return None

    def write_personal(self, path, content, *, if_match=None):
        return self.write(Locator("mine").child(path), content, if_match=if_match)


def test_nothing_is_added_to_an_unmarked_store_by_another_door_either(device, tmp_path):
    (tmp_path / "store").mkdir()
    store = IdentityGuard(ThisDevice(device.environ), Personal(tmp_path / "store"), "stub")
    for change in (
        lambda: store.facet(Appends).append(NOTE, "line\n"),
        lambda: store.facet(PersonalSpace).write_personal("note.md", "text"),
    ):
        with pytest.raises(StoreIdentityError, match="no identity stamp"):
            change()
    assert not list((tmp_path / "store").iterdir())
    assert store.facet(DeviceFiles) is store.inner, "what cannot write needs no guard"


def test_a_store_is_settled_once_for_many_writes(device, tmp_path):
    (tmp_path / "store").mkdir()
    inner = Personal(tmp_path / "store")
    stamp_store(inner)
    store = IdentityGuard(ThisDevice(device.environ), inner, "stub")
    store.write(NOTE, "one")
    looks = inner.looks
    store.write(NOTE, "two")
    store.facet(Appends).append(NOTE, "three\n")
    assert inner.looks == looks


def test_a_stamp_that_can_neither_be_written_nor_found_is_an_error(tmp_path):
    class Refusing(FileStore):
        def write(self, locator, content, *, if_match=None):
            raise ConcurrentModificationError("somebody was faster, and is gone again")

    with pytest.raises(ConcurrentModificationError):
        stamp_store(Refusing(tmp_path))


def test_in_a_new_home_nothing_is_read_to_know_that_no_store_is_known(tmp_path):
    code = (
        "import sys; from agentm_kernel.selection.identity import known_id\n"
        "print(known_id(sys.argv[1], 'vault', '/notes'), 'agentm_kernel.device.json_text' in sys.modules)"
    )
    said = subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True)
    assert said == "None False\n"
