"""What the verbs of an encrypted store promise beside the sealing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_encryption.opening import wrap
from agentm_encryption.pins import Pins
from agentm_encryption.places import store_folder
from agentm_kernel import Locator
from agentm_kernel.errors import (
    ConcurrentModificationError,
    InvalidContentError,
    NotFoundError,
    StorageReadOnlyError,
    StorageSelectionError,
)
from agentm_kernel.plugin import ABSENT, STAMP_KEY, Device, Opening, content_hash

if TYPE_CHECKING:
    from pathlib import Path

    from encrypted_laptops import Laptop

    from agentm_kernel.plugin import StorageBackend

NOTE = Locator("notes/a.md")
KEY = Locator("_meta/keys/1.age")


@pytest.fixture
def place(laptop: Laptop) -> Path:
    laptop.init()
    return laptop.place


@pytest.fixture
def store(laptop: Laptop, place: Path) -> StorageBackend:
    return laptop.store()


def test_a_note_is_as_large_as_its_text_and_what_stays_plain_as_its_file(store: StorageBackend, place: Path) -> None:
    store.write(NOTE, "four")
    (folder, note) = (store.info(Locator("notes")), store.info(NOTE))
    assert (folder.is_dir, note.is_dir, note.size) == (True, False, 4)
    assert store.info(Locator(STAMP_KEY)).size == (place / STAMP_KEY).stat().st_size
    walked = {info.locator: info for info in store.walk(Locator())}
    assert (walked[NOTE].size, walked[NOTE].is_dir, walked[Locator("notes")].is_dir) == (4, False, True)


def test_the_same_text_again_is_no_write(store: StorageBackend, place: Path) -> None:
    store.write(NOTE, "one\n")
    before = (place / NOTE.key).read_bytes()
    store.write(NOTE, "one\n")
    store.write(NOTE, "one\n", if_match=content_hash("one\n"))
    assert (place / NOTE.key).read_bytes() == before
    store.write(NOTE, "two\n")
    assert (place / NOTE.key).read_bytes() != before


def test_what_is_no_text_is_refused_before_anything_is_sealed(store: StorageBackend, place: Path) -> None:
    with pytest.raises(InvalidContentError):
        store.write(NOTE, "\udcff")
    assert not (place / NOTE.key).exists()


def test_the_keys_of_a_store_are_neither_written_nor_deleted_by_a_verb(store: StorageBackend, place: Path) -> None:
    before = (place / KEY.key).read_bytes()
    for step in (lambda: store.delete(KEY), lambda: store.write(KEY, "mine\n")):
        with pytest.raises(
            StorageReadOnlyError, match=f"'{KEY}' belongs to the keys of the store and was not changed"
        ):
            step()
    assert (place / KEY.key).read_bytes() == before


def test_a_condition_is_on_the_text_for_every_verb(store: StorageBackend) -> None:
    store.write(NOTE, "one\n", if_match=ABSENT)
    for condition in (ABSENT, content_hash("two\n")):
        with pytest.raises(ConcurrentModificationError):
            store.write(NOTE, "three\n", if_match=condition)
    with pytest.raises(ConcurrentModificationError, match="was changed by somebody else meanwhile"):
        store.delete(NOTE, if_match=content_hash("two\n"))
    store.delete(NOTE, if_match=content_hash("one\n"))
    with pytest.raises(NotFoundError):
        store.read(NOTE)
    with pytest.raises(NotFoundError):
        store.delete(NOTE)
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "one\n", if_match=content_hash("one\n"))


def test_it_promises_encryption_and_no_files_that_others_read(store: StorageBackend) -> None:
    assert (store.capabilities.encryption, store.capabilities.delete) == (True, True)


def test_encryption_is_asked_for_only_in_a_store_that_was_set_up_for_it(laptop: Laptop) -> None:
    laptop.done("config", "set", "wrappers", "encryption")
    with pytest.raises(StorageSelectionError, match="encryption") as caught:
        laptop.store().read(NOTE)
    assert "agentm encryption init" in (caught.value.hint or "")


def test_an_option_that_there_is_not_is_named(laptop: Laptop, place: Path) -> None:
    laptop.done("config", "set", "plugins.encryption.passphrase_command", "cat /nowhere")
    assert laptop.store().exists(Locator("notes")) is False
    device = Device.now(laptop.environ)
    with pytest.raises(StorageSelectionError, match="no option 'passphrase'"):
        wrap(laptop.store(), {"passphrase": "x"}, device, Opening())


def test_keys_that_this_device_announced_are_trusted_when_they_turn_up_and_kept_by_whoever_may_write(
    laptop: Laptop, store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "one\n")
    folder = store_folder(Device.now(laptop.environ).state_dir, str(laptop.status()["store"]))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Pins, "add", killed)
        laptop.run("encryption", "rotate", "--yes")
    assert [*Pins(folder).epochs] == [1]
    assert laptop.store(read_only=True).read(NOTE) == "one\n"
    assert [*Pins(folder).epochs] == [1], "whoever only reads remembers nothing"
    assert laptop.store().read(NOTE) == "one\n"
    assert [*Pins(folder).epochs] == [1, 2]
