"""The image survives whatever is done to it, or says what does not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from agentm_checkpoint.capture import take
from agentm_checkpoint.car import encode_frame, frames
from agentm_checkpoint.cids import CID_BYTES
from agentm_checkpoint.image import Image
from agentm_checkpoint.reading import reachable, read_note, read_tree
from agentm_checkpoint.verifying import verified_leaves, verify_image
from agentm_kernel import Locator
from agentm_kernel.errors import IntegrityError, NotFoundError, StorageIOError
from agentm_kernel.plugin import store_mutex

STORE_ID = "11111111-2222-3333-4444-555555555555"
TRIALS = 150


@pytest.fixture
def history(store, open_image):
    """Four checkpoints, and what the store held at each."""
    held = []
    for number in range(4):
        store.write(Locator(f"notes/{number}.md"), f"# Note {number}\n" * 20)
        store.write(Locator("notes/changing.md"), f"version {number}\n")
        image = open_image()
        taken = take(store, image, author="a", reason=str(number))
        held.append((taken.snapshot.cid, notes_of(image, taken.snapshot)))
    return held


def notes_of(image, snapshot):
    leaves = verified_leaves(image, snapshot)
    return {key: read_note(leaf, image.fetch) for key, leaf in leaves.items()}


def test_no_file_is_an_image_without_checkpoints(open_image):
    image = open_image()

    assert (image.snapshots, image.damage, image.latest()) == ([], None, None)


def test_checkpoints_come_back_in_order_with_all_their_notes(history, open_image):
    image = open_image()

    assert [(snapshot.cid, notes_of(image, snapshot)) for snapshot in image.snapshots] == history
    assert verify_image(image).is_good


def test_each_checkpoint_names_the_one_before(history, open_image):
    snapshots = open_image().snapshots

    assert [snapshot.parent for snapshot in snapshots] == [None, *(snapshot.id for snapshot in snapshots[:-1])]


def test_a_checkpoint_is_found_by_name(history, open_image):
    image = open_image()
    newest = image.snapshots[-1]

    assert image.find("latest") is newest
    assert image.find("latest~0") is newest
    assert image.find("latest~3") is image.snapshots[0]
    assert image.find(newest.id) is newest
    assert image.find(newest.id[:20]) is newest


@pytest.mark.parametrize("name", ["latest~4", "latest~x", "bafyrei", "bafy", "", "nothing"])
def test_a_name_that_means_no_checkpoint_is_refused(history, open_image, name):
    with pytest.raises(NotFoundError):
        open_image().find(name)


def test_the_file_is_private(history, image_file):
    assert image_file.stat().st_mode & 0o777 == 0o600


def test_it_is_a_plain_car_archive(history, image_file):
    """What other tools see: one root in the header, and every block under the id of its bytes."""
    import hashlib

    import libipld

    data = image_file.read_bytes()
    header = libipld.decode_dag_cbor(data[1 : 1 + data[0]])
    assert header["version"] == 1
    offset, found = 1 + data[0], {}
    while offset < len(data):
        size = shift = 0
        while True:
            byte = data[offset]
            offset += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        cid, block = data[offset : offset + 36], data[offset + 36 : offset + size]
        assert hashlib.sha256(block).digest() == cid[4:]
        found[cid] = block
        offset += size
    assert header["roots"][0] in found


# ------------------------------------------------------------------------------------------------ damage


def usable_notes(file):
    """What can be got out of an image, whatever state it is in: by snapshot, only what verifies."""
    image = Image(str(file), STORE_ID)
    found = {}
    for snapshot in image.snapshots:
        try:
            found[snapshot.cid] = notes_of(image, snapshot)
        except IntegrityError:
            continue
    return image, found


def test_cut_anywhere_it_opens_at_the_last_complete_checkpoint_and_says_so(history, image_file):
    good = image_file.read_bytes()
    generator = random.Random(2)
    snapshots = Image(str(image_file), STORE_ID).snapshots
    ends = [good.rindex(snapshot.block) + len(snapshot.block) for snapshot in snapshots]
    for cut in [1, *ends, *(end - 1 for end in ends), *(generator.randrange(1, len(good)) for _ in range(TRIALS))]:
        image_file.write_bytes(good[:cut])

        image, found = usable_notes(image_file)

        complete = [entry for entry, end in zip(history, ends, strict=True) if end <= cut]
        assert list(found.items()) == complete
        assert bool(image.damage) == (cut not in ends)
        assert verify_image(image).last_whole is image.latest()


def test_with_a_bit_flipped_anywhere_no_note_is_ever_wrong(history, image_file):
    good = image_file.read_bytes()
    generator = random.Random(3)
    noticed = 0
    for _ in range(TRIALS):
        place, bit = generator.randrange(len(good)), 1 << generator.randrange(8)
        image_file.write_bytes(good[:place] + bytes([good[place] ^ bit]) + good[place + 1 :])

        image, found = usable_notes(image_file)

        assert all((cid, notes) in history for cid, notes in found.items())
        noticed += not verify_image(image).is_good
    assert noticed == TRIALS


def needs(image, snapshot):
    """Every block that a checkpoint consists of."""
    return {snapshot.cid, *reachable(snapshot.root.cid, image.fetch)}


def test_a_changed_byte_costs_the_checkpoints_that_need_its_block_and_no_other(history, image_file, open_image):
    """Every byte of the file in turn, lengths and identifiers included, and the damage is named each time."""
    good = image_file.read_bytes()
    sound = open_image()
    needed = {snapshot.cid: needs(sound, snapshot) for snapshot in sound.snapshots}
    frames_of = [*frames(good, len(sound._preamble))]
    starts = [len(sound._preamble), *(end for _, _, end in frames_of)]
    for place in range(len(good)):
        changed = bytes([good[place] ^ 1 << place % 8])
        image_file.write_bytes(good[:place] + changed + good[place + 1 :])
        hit = next((f[0] for f, start in zip(frames_of, starts, strict=False) if start <= place < f[2]), None)
        if place < starts[0]:
            hit = None

        image, found = usable_notes(image_file)

        expected = [(cid, notes) for cid, notes in history if hit not in needed[cid]]
        assert list(found.items()) == expected, place
        assert image.damage, place
        assert not verify_image(image).is_good


def test_a_length_that_swallows_whole_blocks_hides_none_of_them(history, image_file, open_image):
    good = image_file.read_bytes()
    sound = open_image()
    found = [*frames(good, len(sound._preamble))]
    first, third = found[0], found[2]
    start = len(sound._preamble)
    longer = encode_frame(first[0], b"x" * (third[2] - start - 38))[:2]
    image_file.write_bytes(good[:start] + longer + good[start + 2 :])
    assert next(frames(image_file.read_bytes(), start))[2] == third[2]

    image = open_image()

    assert [snapshot.cid for snapshot in image.snapshots] == [cid for cid, _ in history]
    assert all(cid in image for cid, _, _ in found[1:])


def test_a_damaged_image_heals_with_what_the_store_still_holds(history, image_file, open_image, store):
    good = image_file.read_bytes()
    text = b"# Note 1\n" * 20
    image_file.write_bytes(good.replace(text, text[::-1]))

    take(store, open_image(), author="a", reason="r")

    image = open_image()
    assert verify_image(image).is_good
    assert [snapshot.cid for snapshot in image.snapshots[:4]] == [cid for cid, _ in history]


def test_on_a_damaged_image_latest_is_not_certain(history, image_file, open_image):
    good = image_file.read_bytes()
    image_file.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    image = open_image()
    third = image.snapshots[2]

    with pytest.raises(IntegrityError, match=third.id):
        image.find_certain("latest")
    assert image.find_certain(third.id) is third
    assert image.find("latest") is third


def test_an_automatic_checkpoint_is_never_the_latest(history, open_image, store):
    image = open_image()
    last = image.latest()
    store.write(Locator("notes/changing.md"), "about to be replaced\n")
    taken = take(store, image, author="a", reason="before", automatic=True)

    image = open_image()
    assert image.snapshots[-1].automatic
    assert image.latest().cid == last.cid
    assert image.find(taken.snapshot.id).cid == taken.snapshot.cid
    wanted = take(store, image, author="a", reason="by hand")
    assert wanted.is_new
    assert open_image().latest().cid == wanted.snapshot.cid


def test_blocks_that_were_swapped_are_noticed(history, image_file, open_image):
    good = image_file.read_bytes()
    one, other = b"# Note 1\n" * 20, b"# Note 2\n" * 20
    image_file.write_bytes(good.replace(one, b"\0" * len(one)).replace(other, one).replace(b"\0" * len(one), other))

    assert len(verify_image(open_image()).findings) == 3


def test_damage_is_described_by_where_it_is_and_how_much_of_it_there_is(history, image_file, open_image):
    good = image_file.read_bytes()
    texts = [f"# Note {number}\n".encode() * 20 for number in (1, 2, 3)]
    assert all(good.count(text) == 1 for text in texts)
    place = good.index(texts[0]) - CID_BYTES - 2  # its frame begins with the length and the id

    for damaged, more in ((1, ""), (2, ", and 1 more such places"), (3, ", and 2 more such places")):
        data = good
        for text in texts[:damaged]:
            data = data.replace(text, b"!" * len(text))
        image_file.write_bytes(data)

        assert open_image().damage == (
            f"the image {image_file} is damaged: {(len(texts[0]) + CID_BYTES + 2) * damaged:,} bytes at byte "
            f"{place:,} are no block{more}"
        )


def test_what_a_killed_writer_left_is_cut_off_by_the_next(history, image_file, open_image, store):
    good = image_file.read_bytes()
    image_file.write_bytes(good + b"\x50half a frame")
    store.write(Locator("notes/new.md"), "new\n")

    image = open_image()
    assert "not complete" in image.damage
    take(store, image, author="a", reason="r")

    image = open_image()
    assert image.damage is None
    assert len(image.snapshots) == 5
    assert image_file.read_bytes().startswith(good)
    assert verify_image(image).is_good


def cut_before_the_last_snapshot(file):
    """What a writer leaves that is killed after its blocks are on the disk, and before the snapshot is."""
    data = file.read_bytes()
    last = Image(str(file), STORE_ID).latest()
    file.write_bytes(data[: data.rindex(last.cid) - 2])


def test_blocks_that_a_killed_writer_left_are_not_counted_on(history, image_file, open_image, store):
    cut_before_the_last_snapshot(image_file)
    image = open_image()
    assert len(image.snapshots) == 3
    assert "not complete" in image.damage

    taken = take(store, image, author="a", reason="r")

    image = open_image()
    assert notes_of(image, taken.snapshot) == history[-1][1]
    assert verify_image(image).is_good


def test_blocks_of_a_checkpoint_that_cannot_be_used_are_written_again(history, image_file, open_image, store):
    good = image_file.read_bytes()
    last = open_image().latest()
    place = good.rindex(last.block)
    image_file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])

    taken = take(store, open_image(), author="a", reason="r")

    image = open_image()
    assert notes_of(image, taken.snapshot) == history[-1][1]
    assert verify_image(image).is_good


def test_what_may_hold_more_is_set_aside_before_anything_is_written(history, image_file, open_image, store):
    """A byte in the middle is zero: the length of a block that the third checkpoint brought."""
    good = image_file.read_bytes()
    second = Image(str(image_file), STORE_ID).snapshots[1]
    place = good.index(second.block) + len(second.block)
    bad = good[:place] + b"\0" + good[place + 1 :]
    image_file.write_bytes(bad)

    image = open_image()
    assert len(image.snapshots) == 4
    assert len(verify_image(image).findings) in (1, 2)
    take(store, image, author="a", reason="r")

    image = open_image()
    assert verify_image(image).is_good
    assert [snapshot.cid for snapshot in image.snapshots[:2]] == [cid for cid, _ in history[:2]]
    assert [file.read_bytes() for file in image_file.parent.glob("*.damaged-*")] == [bad]


def test_an_image_of_which_nothing_is_left_is_not_one_without_checkpoints(history, image_file, open_image, store):
    image_file.write_bytes(b"")

    assert "is empty" in open_image().damage
    take(store, open_image(), author="a", reason="r")

    image = open_image()
    assert image.damage is None
    assert notes_of(image, image.latest()) == history[-1][1]


def test_the_image_of_another_store_is_not_taken_for_ours(history, image_file):
    image = Image(str(image_file), "another-store")

    assert image.snapshots == []
    assert "another store" in image.damage


def test_a_file_of_another_kind_in_its_place_is_set_aside(image_file, open_image, store):
    image_file.parent.mkdir()
    image_file.write_bytes(b"not an image " * 100)
    assert open_image().damage

    take(store, open_image(), author="a", reason="r")

    assert open_image().damage is None
    assert len(list(image_file.parent.glob("*.damaged-1"))) == 1


def test_a_damaged_block_is_replaced_by_a_full_checkpoint(history, image_file, open_image, store):
    good = image_file.read_bytes()
    text = b"# Note 1\n" * 20
    image_file.write_bytes(good.replace(text, text[::-1]))
    assert len(verify_image(open_image()).findings) == 3

    take(store, open_image(), author="a", reason="r", full=True)

    assert verify_image(open_image()).is_good


def test_an_image_that_cannot_be_read_is_an_error_and_not_an_empty_one(image_file, open_image):
    image_file.mkdir(parents=True)

    with pytest.raises(StorageIOError, match="image"):
        open_image()


KILLED = """
import sys
from agentm_checkpoint.capture import take
from agentm_checkpoint.cids import CID_BYTES
from agentm_checkpoint.image import Image
from agentm_kernel.plugin import FileStore, Locator
store = FileStore(sys.argv[1])
number = 0
while True:
    number += 1
    store.write(Locator("count.md"), str(number))
    taken = take(store, Image(sys.argv[2], sys.argv[3]), author="a", reason=str(number))
    print(taken.snapshot.id, flush=True)
"""


def test_a_writer_that_is_killed_loses_nothing_that_it_acknowledged(store, image_file, open_image):
    generator = random.Random(4)
    acknowledged = []
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, store.describe(), str(image_file), STORE_ID],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        acknowledged.append(writer.stdout.readline().strip())
        time.sleep(generator.random() * 0.05)
        writer.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
        writer.stdout.close()
        writer.wait()

        image = open_image()
        assert verify_image(image).findings == []
        assert set(acknowledged) <= {snapshot.id for snapshot in image.snapshots}


def test_two_writers_at_once_both_have_their_checkpoint(store, image_file, open_image):
    code = KILLED.replace("while True:", "for _ in range(10):").replace('"count.md"', 'f"{sys.argv[4]}.md"')
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, store.describe(), str(image_file), STORE_ID, name],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    taken = [line.strip() for writer in writers for line in writer.communicate(timeout=60)[0].splitlines()]

    image = open_image()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert set(taken) <= {snapshot.id for snapshot in image.snapshots}
    assert verify_image(image).is_good


# ------------------------------------------------------------------------------------------------ the index


def index_of(image_file):
    return image_file.parent / "image.index"


def test_with_its_index_an_image_is_opened_without_being_read(history, image_file, open_image, monkeypatch):
    monkeypatch.setattr(Image, "_read", lambda self: pytest.fail("it was read"))

    image = open_image()

    assert [snapshot.cid for snapshot in image.snapshots] == [cid for cid, _ in history]
    assert image.latest().root.cid in image


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", bytes(4), bytes(5000), lambda data: data[:-1], lambda data: data[:-1] + b"x"]
)
def test_an_index_that_is_lost_or_torn_is_missed_by_nobody(history, image_file, open_image, damage):
    index = index_of(image_file)
    index.write_bytes(damage(index.read_bytes()) if callable(damage) else damage)

    image = open_image()

    assert [(snapshot.cid, notes_of(image, snapshot)) for snapshot in image.snapshots] == history


def test_a_checkpoint_does_not_need_its_index_to_be_saved(history, image_file, open_image, store):
    index_of(image_file).unlink()
    index_of(image_file).mkdir()
    store.write(Locator("notes/new.md"), "new\n")

    assert take(store, open_image(), author="a", reason="r").is_new

    assert len(open_image().snapshots) == 5
    assert sorted(file.name for file in image_file.parent.iterdir()) == ["image.car", "image.index", "survey.cache"]


def test_an_index_is_believed_of_no_other_file(history, image_file, open_image):
    copy = image_file.read_bytes()
    image_file.unlink()
    image_file.write_bytes(copy[: len(copy) // 2])

    assert open_image().damage


def test_an_image_that_is_replaced_after_it_was_opened_is_looked_at_anew(history, open_image):
    image = open_image()
    open_image().prune(1)

    assert notes_of(image, image.find(image.latest().id)) == history[-1][1]
    with pytest.raises(IntegrityError):
        image.fetch(history[0][0])


def test_verifying_believes_no_index(history, image_file, open_image):
    status = image_file.stat()
    data = bytearray(image_file.read_bytes())
    data[len(data) // 2] ^= 1
    image_file.write_bytes(data)
    os.utime(image_file, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert not verify_image(open_image()).is_good


# ------------------------------------------------------------------------------------------------ prune


def test_pruning_keeps_the_newest_and_all_that_they_need(history, open_image, image_file):
    before = image_file.stat().st_size
    image = open_image()

    gone = image.prune(2)

    assert [snapshot.cid for snapshot in gone] == [cid for cid, _ in history[:2]]
    image = open_image()
    assert [(snapshot.cid, notes_of(image, snapshot)) for snapshot in image.snapshots] == history[2:]
    assert image_file.stat().st_size < before
    assert verify_image(image).is_good


def test_pruning_to_more_than_there_are_does_nothing(history, open_image, image_file):
    before = image_file.read_bytes()

    assert open_image().prune(10) == []
    assert image_file.read_bytes() == before


def test_a_checkpoint_that_is_taken_while_another_process_prunes_is_whole(history, open_image, store):
    """What the image had when the notes were compared is gone when the snapshot is to be written."""
    store.write(Locator("notes/changing.md"), "version 0\n")
    mine = open_image()
    store.delete(Locator("notes/3.md"))
    store.delete(Locator("notes/2.md"))
    open_image().prune(1)

    taken = take(store, mine, author="a", reason="r")

    assert verify_image(open_image()).is_good
    assert open_image().latest().cid == taken.snapshot.cid
    assert verify_image(mine).is_good


def test_nothing_is_pruned_while_another_process_writes_the_image(history, open_image, image_file):
    """What it appends would be in the file that the pruned one takes the place of."""
    before = image_file.read_bytes()
    pruning = threading.Thread(target=open_image().prune, args=(1,))
    with store_mutex(str(image_file.parent)):
        pruning.start()
        pruning.join(0.5)
        assert image_file.read_bytes() == before
    pruning.join(10)
    assert image_file.read_bytes() != before


def test_a_damaged_image_is_not_pruned(history, open_image, image_file):
    image_file.write_bytes(image_file.read_bytes()[:-1])

    with pytest.raises(IntegrityError, match="not pruned"):
        open_image().prune(1)


def test_pruning_that_meets_a_damaged_block_leaves_the_file_as_it_is(history, open_image, image_file):
    text = b"# Note 1\n" * 20
    bad = image_file.read_bytes().replace(text, text[::-1])
    image_file.write_bytes(bad)

    with pytest.raises(IntegrityError):
        open_image().prune(1)
    assert image_file.read_bytes() == bad


def test_nothing_is_left_behind_when_the_disk_is_full(history, image_file, open_image, store, monkeypatch):
    good = image_file.read_bytes()
    store.write(Locator("notes/new.md"), "new\n")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageIOError):
            take(store, open_image(), author="a", reason="r")

    assert image_file.read_bytes().startswith(good)
    assert len(open_image().snapshots) >= 4
    assert read_tree(open_image().snapshots[3].root, open_image().fetch)
