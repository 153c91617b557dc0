"""A checkpoint of any store is the store, note for note, byte for byte."""

from __future__ import annotations

import os
import random
import time

import pytest

from agentm_checkpoint.capture import survey, take
from agentm_checkpoint.cids import raw_cid
from agentm_checkpoint.image import Image
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.survey_cache import SETTLED_AFTER, SurveyedFolder
from agentm_checkpoint.verifying import verified_leaves
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.errors import NotFoundError, StorageError
from agentm_kernel.plugin import FileStore

STAMP = "_meta/store.json"


def held_by(image, snapshot):
    leaves = read_tree(snapshot.root, image.fetch)
    return {key: read_note(leaf, image.fetch).decode() for key, leaf in leaves.items()}


def settle(folder):
    """Make everything below look as old as it would be tomorrow."""
    past = time.time() - 10 * SETTLED_AFTER
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.utime(os.path.join(parent, name), (past, past))


class Counting(FileStore):
    reads = 0

    def read(self, locator):
        self.reads += 1
        return super().read(locator)


def test_a_checkpoint_holds_every_note_byte_for_byte(store, open_image, make_notes, write_notes):
    notes = make_notes(500)
    write_notes(store, notes)
    image = open_image()

    taken = take(store, image, author="ana", reason="test")

    assert held_by(image, taken.snapshot) == notes
    assert (taken.snapshot.author, taken.snapshot.reason) == ("ana", "test")
    assert taken.skipped == []


def open_device_local(root):
    return pytest.importorskip("agentm_device_local").DeviceLocalBackend(root)


def open_vault(root):
    os.mkdir(root)
    return pytest.importorskip("agentm_obsidian_vault").VaultBackend(root)


@pytest.mark.parametrize("open_copy", [open_device_local, open_vault, lambda _: MemoryBackend()])
def test_copies_of_one_store_have_one_root_whatever_keeps_them(
    store, open_copy, tmp_path, open_image, make_notes, write_notes
):
    notes = make_notes(120)
    write_notes(store, notes)
    copy = open_copy(str(tmp_path / "copy"))
    write_notes(copy, {STAMP: store.read(Locator(STAMP)).replace("11111111", "99999999"), **notes})
    copy.mkdir(Locator("an/empty/folder"))

    here = take(store, open_image(), author="a", reason="here").snapshot
    there = take(copy, Image(str(tmp_path / "other.car"), "x"), author="b", reason="there").snapshot

    assert here.root_id == there.root_id
    assert here.id != there.id


def test_nothing_changed_is_no_new_checkpoint(store, open_image):
    store.write(Locator("a.md"), "a")
    first = take(store, open_image(), author="a", reason="one")

    second = take(store, open_image(), author="a", reason="two")

    assert (second.is_new, second.snapshot.id) == (False, first.snapshot.id)
    assert len(open_image().snapshots) == 1


def test_a_store_that_is_back_where_it_was_is_a_new_checkpoint_of_the_same_root(store, open_image):
    roots = []
    for text in ("a", "b", "a"):
        store.write(Locator("a.md"), text)
        roots.append(take(store, open_image(), author="a", reason=text).snapshot.root_id)

    assert roots[0] == roots[2] != roots[1]
    assert len(open_image().snapshots) == 3


def test_only_what_changed_is_read_again(store, open_image, make_notes, write_notes):
    write_notes(store, make_notes(60))
    settle(store.describe())
    counting = Counting(store.describe())
    take(counting, open_image(), author="a", reason="r")
    counting.reads = 0
    counting.write(Locator("same-a.md"), "changed\n")

    image = open_image()
    taken = take(counting, image, author="a", reason="r")

    assert counting.reads <= 2  # the note, and the stamp
    assert held_by(image, taken.snapshot)["same-a.md"] == "changed\n"


PLACES = ("a.md", "x/a.md", "x/b.md", "x/y/a.md", "x/y/z/a.md", "Ünïcode/é.md", "p/q/r.md")


def change_something(store, root, generator):
    """What agents, people and their tools do to a store."""
    key = generator.choice(PLACES)
    path = os.path.join(root, *key.split("/"))
    deed = generator.randrange(5)
    if deed == 0 and os.path.exists(path):
        os.unlink(path)
    elif deed == 1 and os.path.isdir(os.path.join(root, "x")):
        os.rename(os.path.join(root, "x"), os.path.join(root, f"moved-{generator.randrange(3)}-{time.time_ns()}"))
    elif deed == 2:
        os.makedirs(os.path.join(root, f"empty-{generator.randrange(3)}"), exist_ok=True)
    elif deed == 3:
        with open(os.path.join(root, "picture.png"), "wb") as file:
            file.write(b"\xff" * generator.randrange(1, 9))
    else:
        store.write(Locator(key), f"text {generator.randrange(4)}\n")


@pytest.mark.parametrize("seed", range(6))
def test_a_checkpoint_that_takes_over_what_has_not_changed_is_the_one_that_reads_everything(
    store, open_image, tmp_path, notes_in, seed
):
    generator = random.Random(seed)
    root = store.describe()
    store.write(Locator("a.md"), "the first")
    for number in range(25):
        for _ in range(generator.randrange(4)):
            change_something(store, root, generator)
        if generator.random() < 0.7:
            settle(root)
        if generator.random() < 0.2:
            survey(store, open_image())  # a look without a checkpoint

        image = open_image()
        taken = take(store, image, author="a", reason="r")

        everything = take(store, Image(str(tmp_path / f"full-{number}" / "i.car"), "x"), author="a", reason="r")
        assert taken.snapshot.root_id == everything.snapshot.root_id
        assert taken.leaves == everything.leaves == read_tree(taken.snapshot.root, image.fetch)
        assert taken.skipped == everything.skipped
        verified_leaves(open_image(), taken.snapshot)


def test_a_note_that_is_younger_than_the_clock_is_coarse_is_read_again(store, open_image):
    counting = Counting(store.describe())
    counting.write(Locator("a.md"), "one")
    take(counting, open_image(), author="a", reason="r")
    counting.reads = 0

    survey(counting, open_image())

    assert counting.reads >= 1


def test_a_store_that_cannot_tell_versions_is_read_whole(memory, open_image, monkeypatch):
    memory.write(Locator("a.md"), "one")
    monkeypatch.setattr(MemoryBackend, "info", lambda self, locator: _without_version(self, locator))
    take(memory, open_image(), author="a", reason="r")
    memory.write(Locator("a.md"), "two")

    image = open_image()
    taken = take(memory, image, author="a", reason="r")

    assert held_by(image, taken.snapshot) == {"a.md": "two"}


def _without_version(backend, locator):
    from agentm_kernel.plugin import Info

    is_dir = locator in backend._directories
    return Info(locator, is_dir, 0 if is_dir else len(backend.read(locator).encode()), 0.0, "")


@pytest.mark.parametrize("count", [0, 1, 5])
def test_no_column_of_what_was_seen_can_be_taken_for_a_link(count):
    """libipld writes bytes that begin like an identifier as a link; old ones do not ask how long they are."""
    folder = SurveyedFolder()
    folder.keep({f"{number}.md": ("v", (0x2012, raw_cid(b"text"))) for number in range(count)})
    for column in (folder.sizes, folder.cids):
        assert column[:1] == b"\0"
    assert folder.leaves() == {f"{number}.md": (0x2012, raw_cid(b"text")) for number in range(count)}


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x80", bytes(4), bytes(5000)])
def test_what_was_seen_can_be_lost_without_harm(store, open_image, image_file, damage):
    store.write(Locator("a.md"), "one")
    settle(store.describe())
    take(store, open_image(), author="a", reason="r")
    (image_file.parent / "survey.cbor").write_bytes(damage)

    assert take(store, open_image(), author="a", reason="r").is_new is False


def test_a_lost_image_is_filled_again(store, open_image, image_file):
    store.write(Locator("a.md"), "one")
    settle(store.describe())
    take(store, open_image(), author="a", reason="r")
    image_file.unlink()

    image = open_image()
    taken = take(store, image, author="a", reason="r")

    assert held_by(image, taken.snapshot) == {"a.md": "one"}


def test_what_is_no_note_is_named_and_not_in_it(store, open_image, tmp_path):
    store.write(Locator("a.md"), "one")
    (tmp_path / "store" / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "store" / "bad\\name.md").write_text("x")
    os.symlink("a.md", tmp_path / "store" / "link.md")

    image = open_image()
    taken = take(store, image, author="a", reason="r")

    assert sorted(taken.skipped) == ["bad\\name.md", "link.md", "picture.png"]
    assert held_by(image, taken.snapshot) == {"a.md": "one"}


def test_a_note_that_vanishes_meanwhile_is_left_out(store, open_image, monkeypatch):
    store.write(Locator("a.md"), "one")
    store.write(Locator("b.md"), "two")
    read = FileStore.read

    def gone(self, locator):
        if locator.key == "b.md":
            raise NotFoundError("gone")
        return read(self, locator)

    monkeypatch.setattr(FileStore, "read", gone)

    image = open_image()
    assert held_by(image, take(store, image, author="a", reason="r").snapshot) == {"a.md": "one"}


def test_a_note_that_cannot_be_read_is_an_error_and_not_left_out(store, open_image, monkeypatch):
    from agentm_kernel.errors import StorageIOError

    store.write(Locator("a.md"), "one")
    read = FileStore.read

    def broken(self, locator):
        if locator.key == "a.md":
            raise StorageIOError("the disk is failing")
        return read(self, locator)

    monkeypatch.setattr(FileStore, "read", broken)

    with pytest.raises(StorageIOError):
        take(store, open_image(), author="a", reason="r")
    assert open_image().snapshots == []


def test_a_store_without_an_identity_has_no_checkpoints(tmp_path, open_image):
    (tmp_path / "bare").mkdir()

    with pytest.raises(StorageError, match="no identity"):
        take(FileStore(tmp_path / "bare"), open_image(), author="a", reason="r")
