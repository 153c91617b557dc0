"""From notes to one root: which blocks a tree consists of. `reading` goes the other way, and trusts nothing.

    note       raw bytes; above 1 MiB a list of parts, [[size, link], …]
    directory  {name: [size, link to a note] or [size, notes, link to a directory]}
    shards     in the place of a directory with more than 1,000 entries: sixteen of them, by the hash of the name

Only directories that hold notes exist: an object store has no others, and copies of one store must have one root.
Every entry carries the totals of what is below it, so a reader knows what it is in for before it asks for a block.
"""

from __future__ import annotations

import hashlib

from agentm_checkpoint.cids import encode_node, node_cid, raw_cid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_checkpoint.cids import Cid

    Entry = list[Any]
    """What a directory says of one of its names: [size, link] of a note, or [size, notes, link] of a directory."""

MAX_PART = 1 << 20
"""Daemons exchange blocks of up to 2 MiB; a part of a note is half of that."""

MAX_ENTRIES = 1000
FAN_OUT = 16

Leaf = tuple[int, bytes]
"""A note: its size in bytes, and its identifier."""

Blocks = dict[bytes, bytes]


def leaf_of(data: bytes) -> Leaf:
    """What stands for a note's bytes in a tree."""
    if len(data) <= MAX_PART:
        return len(data), raw_cid(data)
    return len(data), node_cid(_encoded_parts(data))


def note_blocks(data: bytes) -> tuple[Leaf, Blocks]:
    """The note's leaf and the blocks that hold its bytes."""
    if len(data) <= MAX_PART:
        cid = raw_cid(data)
        return (len(data), cid), {cid: data}
    blocks = {raw_cid(part): part for part in _parts(data)}
    node = _encoded_parts(data)
    cid = node_cid(node)
    blocks[cid] = node
    return (len(data), cid), blocks


def _parts(data: bytes) -> list[bytes]:
    return [data[start : start + MAX_PART] for start in range(0, len(data), MAX_PART)]


def _encoded_parts(data: bytes) -> bytes:
    return encode_node([[len(part), raw_cid(part)] for part in _parts(data)])


class Root:
    """The top of a tree, with its totals."""

    __slots__ = ("cid", "notes", "size")

    def __init__(self, size: int, notes: int, cid: Cid) -> None:
        self.size = size
        self.notes = notes
        self.cid = cid


def build_tree(leaves: Mapping[str, Leaf]) -> tuple[Root, Blocks]:
    """The root over `leaves` (by key) and every node between the two."""
    folders: dict[str, dict[str, Entry]] = {}
    for key, leaf in leaves.items():
        path, _, name = key.rpartition("/")
        folder = folders.get(path)
        if folder is None:
            folder = folders[path] = {}
        folder[name] = [*leaf]
    return join_folders(folders, {})[1:]


def join_folders(
    folders: Mapping[str, Mapping[str, Entry]], known: Mapping[str, Entry]
) -> tuple[dict[str, Entry], Root, Blocks]:
    """From the notes of each folder, by path, to the root: the entry of every folder, and the nodes that are new.

    `known` are entries of folders of which nothing has changed, neither in them nor below: those stand as they are.
    """
    below: dict[str, dict[str, Entry]] = {"": {}}
    for folder in (*folders, *known):
        path = folder
        while path not in below:
            below[path] = {}
            path = path.rpartition("/")[0]
    entries: dict[str, Entry] = {}
    blocks: Blocks = {}
    for path in sorted(below, key=_depth, reverse=True):
        entry = known.get(path)
        if entry is None:
            notes = folders.get(path, {})
            if path and not notes and not below[path]:
                continue
            entry = _join(notes, below[path], blocks)
        entries[path] = entry
        if path:
            above, _, name = path.rpartition("/")
            below[above][name] = entry
    size, notes, cid = entries[""]
    return entries, Root(size, notes, cid), blocks


def _join(notes: Mapping[str, Entry], folders: dict[str, Entry], blocks: Blocks) -> Entry:
    """The entry of a folder with these notes and folders in it."""
    size = sum(note[0] for note in notes.values()) + sum(folder[0] for folder in folders.values())
    count = len(notes) + sum(folder[1] for folder in folders.values())
    return [size, count, _encode_directory({**notes, **folders}, 0, blocks)]


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0


def _encode_directory(entries: dict[str, Entry], depth: int, blocks: Blocks) -> Cid:
    if len(entries) <= MAX_ENTRIES:
        return _add(blocks, encode_node(entries))
    shards: list[dict[str, Entry]] = [{} for _ in range(FAN_OUT)]
    for name, entry in entries.items():
        shards[shard_of(name, depth)][name] = entry
    return _add(blocks, encode_node([_encode_directory(shard, depth + 1, blocks) for shard in shards]))


def shard_of(name: str, depth: int) -> int:
    """Which of the sixteen shards at `depth` a name belongs to: one hexadecimal digit of its hash after the other."""
    return int(hashlib.sha256(name.encode()).hexdigest()[depth], 16)


def _add(blocks: Blocks, block: bytes) -> Cid:
    cid = node_cid(block)
    blocks[cid] = block
    return cid
