"""What was stored before the keys changed, before the store was encrypted, and before it was made plain again."""

from __future__ import annotations

import shutil

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    Device,
    FileStore,
    HookCaller,
    HookContext,
    Panel,
    Sealed,
    StorageError,
    StorageIOError,
)

OTHER = Locator("notes/other.md")


def test_a_checkpoint_holds_what_is_sealed_and_opens_with_the_keys_of_its_time(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.done("encryption", "rotate", "--yes")
    laptop.store().write(note, "new")
    laptop.done("checkpoint", "restore", "latest", "--yes")
    store = laptop.store()
    assert store.read(note) == "old"
    assert store.facet(Sealed).open_stored(note, store.facet(Sealed).as_stored.read(note)).epoch == 2
    assert laptop.status()["problems"] == {}


@pytest.mark.parametrize("text", ["planted in plain\n", "-----BEGIN AGE ENCRYPTED FILE-----\ncut off"])
def test_a_checkpoint_brings_back_a_note_that_is_refused_and_takes_away_one_that_somebody_planted(laptop, note, text):
    laptop.init()
    laptop.store().write(note, "good")
    laptop.done("checkpoint", "create")
    for key in (note.key, OTHER.key):
        laptop.place.joinpath(key).parent.mkdir(exist_ok=True, parents=True)
        laptop.place.joinpath(key).write_text(text)
    assert note.key in laptop.refused("encryption", "status")
    laptop.done("checkpoint", "restore", "latest", "--yes")
    assert laptop.store().read(note) == "good"
    assert not laptop.store().exists(OTHER)
    laptop.done("encryption", "status")


def test_a_checkpoint_brings_back_a_note_in_whose_place_somebody_put_an_older_version(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    before = laptop.place.joinpath(note.key).read_text()
    laptop.store().write(note, "new")
    laptop.done("checkpoint", "create")
    laptop.place.joinpath(note.key).write_text(before)
    laptop.done("checkpoint", "restore", "latest", "--path", note.key, "--yes")
    assert laptop.store().read(note) == "new"


def test_undo_opens_a_version_of_an_epoch_that_is_over(laptop, note):
    laptop.init()
    for text in ("old", "new"):
        laptop.store().write(note, text)
    laptop.done("encryption", "rotate", "--yes")
    laptop.done("checkpoint", "undo", note.key)
    assert laptop.store().read(note) == "old"


def test_undo_does_not_make_a_sealed_version_the_text_of_a_plain_note(laptop, note):
    laptop.init()
    for text in ("old", "new"):
        laptop.store().write(note, text)
    laptop.done("encryption", "decrypt", "--yes")
    assert "the store was encrypted then" in laptop.refused("checkpoint", "undo", note.key)
    assert laptop.store().read(note) == "new"
    laptop.init()
    laptop.done("checkpoint", "undo", note.key)
    assert laptop.store().read(note) == "old"


def test_undo_says_that_a_version_is_of_the_time_before_the_store_was_encrypted(laptop, note):
    """It was said of the note itself, which is sealed, and `encryption status` had nothing to say about it."""
    for text in ("old", "new"):
        laptop.store().write(note, text)
    laptop.init()
    refused = laptop.refused("checkpoint", "undo", note.key)
    assert "is in plain, as the note was stored then" in refused
    assert laptop.store().read(note) == "new"
    laptop.done("encryption", "decrypt", "--yes")
    laptop.done("checkpoint", "undo", note.key)
    assert laptop.store().read(note) == "old"


def test_an_age_file_may_be_a_note_of_a_plain_store(laptop, note):
    armored = "-----BEGIN AGE ENCRYPTED FILE-----\n{}\n-----END AGE ENCRYPTED FILE-----\n"
    for text in ("YQ==", "Yg=="):
        laptop.store().write(note, armored.format(text))
    laptop.done("checkpoint", "undo", note.key)
    assert laptop.store().read(note) == armored.format("YQ==")


def test_a_sealed_checkpoint_is_not_restored_as_the_text_of_plain_notes(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.store().write(note, "new")
    laptop.store().write(OTHER, "newer than the checkpoint")
    laptop.done("encryption", "decrypt", "--yes")
    assert "while it was encrypted" in laptop.refused("checkpoint", "restore", "latest", "--yes")
    assert laptop.store().read(note) == "new"
    assert laptop.store().read(OTHER) == "newer than the checkpoint"


def test_who_encrypts_a_store_again_has_the_keys_of_its_older_checkpoints(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.done("encryption", "rotate", "--yes")
    laptop.done("encryption", "decrypt", "--yes")
    laptop.store().write(note, "plain")
    laptop.init()
    store = laptop.store()
    assert store.read(note) == "plain"
    assert store.facet(Sealed).keys.current.number == 3
    assert store.facet(Sealed).keys.oldest == 3
    laptop.done("checkpoint", "restore", "latest", "--yes")
    assert laptop.store().read(note) == "old"
    assert laptop.run("doctor").exit_code == 0


def test_keys_that_this_device_cannot_open_any_more_are_left_behind(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("encryption", "decrypt", "--yes")
    for name in ("identity", "identity.pub"):
        (laptop.home / ".local/state/agentm/encryption" / name).unlink()
    laptop.init()
    assert laptop.store().facet(Sealed).keys.current.number == 1
    assert laptop.store().read(note) == "old"


def test_a_plain_checkpoint_is_refused_before_anything_is_done_to_an_encrypted_store(laptop, note):
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.init()
    laptop.store().write(note, "new")
    laptop.store().write(OTHER, "newer than the checkpoint")
    assert "before it was encrypted" in laptop.refused("checkpoint", "restore", "latest", "--yes")
    assert laptop.store().read(note) == "new"
    assert laptop.store().read(OTHER) == "newer than the checkpoint"


def checkpoints_on_the_page(laptop) -> Panel:
    device = Device.now(laptop.environ)
    panels = HookCaller(HookContext(device, str(laptop.home), None, device.store())).page_panels()
    return next(panel for panel in panels if panel.name == "checkpoints")


def test_the_page_shows_and_brings_back_what_a_sealed_note_said(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.store().write(note, "new")
    panel = checkpoints_on_the_page(laptop)
    blocks = panel.show({"checkpoint": "latest", "note": note.key})
    assert [block["before"] for block in blocks if block["type"] == "diff"] == ["old"]
    (fields,) = [block["fields"] for block in blocks if block["type"] == "action"]
    panel.actions["bring-back"](fields)
    assert laptop.store().read(note) == "old"


def test_the_page_does_not_make_a_sealed_text_a_plain_note(laptop, note):
    laptop.init()
    laptop.store().write(note, "old")
    laptop.done("checkpoint", "create")
    laptop.done("encryption", "decrypt", "--yes")
    fields = {"checkpoint": "latest", "note": note.key, "expect": "absent"}
    laptop.store().delete(note)
    with pytest.raises(StorageError, match="while it was encrypted"):
        checkpoints_on_the_page(laptop).actions["bring-back"](fields)


@pytest.mark.parametrize("names", ["clear", "sealed"])
def test_an_encrypted_store_that_is_gone_comes_back_from_a_checkpoint(laptop, note, names):
    if names == "sealed":
        pytest.importorskip("cryptography")
    laptop.init("--names", names)
    proposal = Locator("_inbox/first.md")  # comes before the keys in every list
    for place in (note, proposal):
        laptop.store().write(place, "what it said")
    laptop.done("checkpoint", "create")
    shutil.rmtree(laptop.place)

    laptop.done("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert [laptop.store().read(place) for place in (note, proposal)] == ["what it said"] * 2
    assert laptop.status()["problems"] == {}


def test_bringing_an_encrypted_store_back_may_be_cut_off_after_its_keys(laptop, note):
    laptop.init()
    laptop.store().write(note, "what it said")
    laptop.done("checkpoint", "create")
    place, keys = laptop.place, [file.read_bytes() for file in (laptop.place / "_meta/keys").iterdir()]
    shutil.rmtree(place)
    (place / "_meta/keys").mkdir(parents=True)
    (place / "_meta/keys/1.age").write_bytes(keys[0])

    laptop.done("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert laptop.store().read(note) == "what it said"


def test_a_store_whose_keys_are_being_taken_out_loses_the_newest_last(laptop, note, monkeypatch):
    """By name, the tenth would go before the second; whoever is cut off then has no keys that this device trusts."""
    laptop.init()
    for _ in range(9):
        laptop.done("encryption", "rotate", "--yes")
    left, real = [2], FileStore.delete

    def delete(*given, **condition):
        if given[1].suffix == ".age":
            left[0] -= 1
            if left[0] < 0:
                raise StorageIOError("cut off")
        return real(*given, **condition)

    with monkeypatch.context() as patched:
        patched.setattr(FileStore, "delete", delete)
        assert "cut off" in laptop.refused("encryption", "decrypt", "--yes")
    laptop.done("encryption", "decrypt", "--yes")
    assert laptop.store().list(Locator("_meta/keys")) == []
