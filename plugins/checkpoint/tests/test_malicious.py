"""Trees from strangers: refused before anything is written, and nothing in them is ever run."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from agentm_checkpoint.cids import encode_node, node_cid, raw_cid
from agentm_checkpoint.reading import Limits, part_cids, read_note, read_tree
from agentm_checkpoint.snapshot import FORMAT, Snapshot, decode_snapshot
from agentm_checkpoint.tree import FAN_OUT, MAX_PART, Root, build_tree, note_blocks
from agentm_kernel import Locator
from agentm_kernel.errors import IntegrityError

STORE_ID = "11111111-2222-3333-4444-555555555555"
NOTE = raw_cid(b"text")


class Hostile:
    """Blocks as an attacker makes them: valid hashes, any content."""

    def __init__(self):
        self.blocks = {NOTE: b"text"}
        self.fetched = 0

    def node(self, value):
        block = encode_node(value)
        self.blocks[node_cid(block)] = block
        return node_cid(block)

    def fetch(self, cid):
        self.fetched += 1
        return self.blocks[cid]

    def refuse(self, top, *, notes=1, size=4, limits=None):
        cid = top if isinstance(top, bytes) else self.node(top)
        with pytest.raises(IntegrityError) as refusal:
            read_tree(Root(size, notes, cid), self.fetch, limits, from_stranger=True)
        return refusal.value.message


@pytest.fixture
def hostile():
    return Hostile()


@pytest.mark.parametrize(
    "name",
    [
        "..", ".", "", "../up.md", "a/b.md", "/etc/passwd", "a\\b.md", "C:x.md", "nul.md", "a\0.md", "a\n.md",
        ".git", ".GIT", "git~1", ".obsidian", ".agentm-temp", "a.md ", "a.", "e\u0301.md", "\u202e.md", "x" * 201,
    ],
)  # fmt: skip
def test_a_name_that_no_note_may_have_is_refused(hostile, name):
    assert "no note may have" in hostile.refuse({name: [4, NOTE]})


def test_a_way_that_is_too_long_is_refused(hostile):
    top = {"note.md": [4, NOTE]}
    for _ in range(10):
        top = {"d" * 200: [4, 1, hostile.node(top)]}

    assert "longer than" in hostile.refuse(top)


def test_the_identity_of_a_store_is_never_restored(hostile):
    assert "_meta/store.json" in hostile.refuse({"_meta": [4, 1, hostile.node({"store.json": [4, NOTE]})]})


@pytest.mark.parametrize(
    "entry",
    [
        None, 1, "text", [], [4], [4, 1], [4, "x"], ["4", NOTE], [-4, NOTE], [4.0, NOTE], [True, NOTE],
        [4, 1, NOTE], [4, 1, NOTE, 0], {"size": 4}, [MAX_PART + 1, NOTE],
    ],
)  # fmt: skip
def test_an_entry_of_the_wrong_shape_is_refused(hostile, entry):
    hostile.refuse({"note.md": entry})


def test_a_folder_where_a_note_should_be_is_refused(hostile):
    hostile.refuse({"note.md": [4, hostile.node({})]})


@pytest.mark.parametrize("top", [42, None, "text", [], [1, 2], [NOTE] * FAN_OUT, {1: 2} if False else [[]]])
def test_a_payload_of_the_wrong_shape_is_refused(hostile, top):
    hostile.refuse(top)


def test_a_root_that_is_a_note_is_refused(hostile):
    hostile.refuse(NOTE)


def test_totals_that_do_not_add_up_are_refused(hostile):
    assert "totals" in hostile.refuse({"a.md": [4, NOTE], "b.md": [4, NOTE]}, notes=1, size=4)
    assert "totals" in hostile.refuse({"a.md": [4, NOTE]}, notes=2, size=8)
    assert "totals" in hostile.refuse({"d": [9, 9, hostile.node({"a.md": [4, NOTE]})]}, notes=9, size=9)


def test_a_folder_without_notes_is_refused(hostile):
    hostile.refuse({"d": [0, 0, hostile.node({})], "a.md": [4, NOTE]})


def test_what_claims_too_much_is_refused_before_a_block_is_read(hostile):
    message = hostile.refuse({"a.md": [4, NOTE]}, notes=10**12, size=10**15)

    assert "claims" in message
    assert hostile.fetched == 0


def test_limits_can_be_set_lower(hostile):
    assert "limit" in hostile.refuse({"a.md": [4, NOTE]}, limits=Limits(notes=10, size=3))


def test_a_small_tree_cannot_unfold_into_a_large_one(hostile):
    """Each level holds the one below a hundred times: 100 ** 30 notes in thirty blocks, and it lies about that."""
    level = hostile.node({"note.md": [4, NOTE]})
    for _ in range(30):
        level = hostile.node({f"{number:02}": [4, 1, level] for number in range(100)})

    hostile.refuse(level, notes=100, size=400)

    assert hostile.fetched < 1000


def test_shards_cannot_unfold_either(hostile):
    level = hostile.node({})
    for _ in range(40):
        level = hostile.node([level] * FAN_OUT)

    hostile.refuse(level, notes=2000, size=0)

    assert hostile.fetched <= 2001


def test_a_name_in_two_shards_is_refused(hostile):
    shard = hostile.node({"note.md": [4, NOTE]})

    assert "wrong part" in hostile.refuse([shard] * FAN_OUT, notes=16, size=64)


def test_a_small_folder_in_shards_is_not_the_form_that_its_notes_make(hostile):
    from agentm_checkpoint.tree import shard_of

    names = [f"note {number}.md" for number in range(FAN_OUT + 1)]
    entries = [{name: [4, NOTE] for name in names if shard_of(name, 0) == shard} for shard in range(FAN_OUT)]

    message = hostile.refuse([*map(hostile.node, entries)], notes=len(names), size=4 * len(names))

    assert "not those that its notes make" in message


def test_a_folder_in_more_shards_than_it_has_notes_is_refused(hostile):
    from agentm_checkpoint.tree import shard_of

    shards = [hostile.node({}) for _ in range(FAN_OUT)]
    shards[shard_of("note.md", 0)] = hostile.node({"note.md": [4, NOTE]})

    assert "more parts than it has notes" in hostile.refuse(shards, notes=1, size=4)


def test_a_block_that_is_not_canonical_is_refused(hostile):
    block = bytes.fromhex("b80161611800")
    hostile.blocks[node_cid(block)] = block

    hostile.refuse(node_cid(block))


@pytest.mark.parametrize(
    "parts",
    [42, [], [[MAX_PART, NOTE]], [[MAX_PART, NOTE], [2, NOTE]], [[1, NOTE], [MAX_PART, NOTE]], [[MAX_PART, NOTE], 1]],
)
def test_the_parts_of_a_long_note_are_checked(hostile, parts):
    with pytest.raises(IntegrityError):
        part_cids((MAX_PART + 1, hostile.node(parts)), hostile.fetch)


def test_a_part_that_is_shorter_than_it_should_be_is_refused(hostile):
    parts = hostile.node([[MAX_PART, NOTE], [1, NOTE]])

    with pytest.raises(IntegrityError, match="bytes"):
        read_note((MAX_PART + 1, parts), hostile.fetch)


# ------------------------------------------------------------------------------------------------ snapshots


def snapshot_fields(**changes):
    root, _ = build_tree({"a.md": note_blocks(b"text")[0]})
    fields = {
        "format": FORMAT, "root": [root.size, root.notes, root.cid], "parent": None, "store": "s", "time": 1,
        "author": "a", "reason": "r", "automatic": False,
    }  # fmt: skip
    return {**fields, **changes}


def test_a_good_snapshot_is_read_as_it_was_written():
    block = encode_node(snapshot_fields())

    assert decode_snapshot(block).block == block


def test_a_snapshot_of_agentm_0_1_is_read_as_it_was_written():
    block = encode_node({name: value for name, value in snapshot_fields().items() if name != "automatic"})

    assert decode_snapshot(block).block == block
    assert not decode_snapshot(block).automatic


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "agentm-checkpoint/2"},
        {"format": 1},
        {"root": [1, 2]},
        {"root": [4, 1, NOTE]},
        {"root": [-1, 1, node_cid(b"")]},
        {"parent": "nonsense"},
        {"automatic": 1},
        {"parent": 1},
        {"store": None},
        {"time": -1},
        {"time": 10**16},
        {"time": 1.5},
        {"author": "a" * 5000},
        {"reason": b"bytes"},
        {"more": 1},
    ],
)
def test_a_snapshot_with_anything_wrong_is_refused(changes):
    with pytest.raises(IntegrityError):
        decode_snapshot(encode_node(snapshot_fields(**changes)))


@pytest.mark.parametrize("block", [encode_node(42), encode_node({}), encode_node([]), b"", b"\xff"])
def test_what_is_no_snapshot_is_refused(block):
    with pytest.raises(IntegrityError):
        decode_snapshot(block)


def test_two_different_snapshots_never_read_alike():
    root, _ = build_tree({})
    one = Snapshot(root, parent=None, store="a", time=1, author="b|c", reason="d")
    other = Snapshot(root, parent=None, store="a", time=1, author="b", reason="c|d")

    assert one.cid != other.cid


# ------------------------------------------------------------------------------------------------ tripwires

CODE = b"__import__('os').system('touch pwned')\n#.(run-program)\n!!python/object/apply:os.system [id]\n"

TRIPWIRES = """
import os, sys
from agentm_checkpoint.image import Image
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.verifying import verify_image
from agentm_kernel.errors import IntegrityError

store, good, *hostile = sys.argv[1:]
FORBIDDEN = {"exec", "compile", "import", "os.system", "os.exec", "subprocess.Popen", "pickle.find_class"}
tripped = []

def wire(event, arguments):
    if event in FORBIDDEN or event.startswith(("socket.", "os.remove", "os.rename", "os.mkdir")):
        tripped.append(event)
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        tripped.append("open " + str(arguments))

def load(path):
    image = Image(path, store)
    verify_image(image)
    for snapshot in image.snapshots:
        try:
            for leaf in read_tree(snapshot.root, image.fetch).values():
                read_note(leaf, image.fetch)
        except IntegrityError:
            pass

load(good)  # what is imported late is imported now
load(hostile[0])
sys.addaudithook(wire)
for path in hostile:
    load(path)
assert not tripped, tripped
exec("1")
assert tripped, "the wire is dead"
print("quiet")
"""


def test_nothing_in_an_image_is_ever_run(tmp_path, store, open_image, image_file):
    from agentm_checkpoint.capture import take

    store.write(Locator("code.md"), CODE.decode())
    take(store, open_image(), author=CODE.decode(), reason=CODE.decode())
    good = image_file.read_bytes()
    generator = random.Random(1)
    hostile = []
    for number in range(100):
        place = generator.randrange(len(good))
        hostile.append(tmp_path / f"hostile-{number}.car")
        hostile[-1].write_bytes(good[:place] + CODE + good[place + generator.choice((0, len(CODE))) :])

    done = subprocess.run(
        [sys.executable, "-c", TRIPWIRES, STORE_ID, str(image_file), *map(str, hostile)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("quiet\n", "")
    assert not (tmp_path / "pwned").exists()
