"""Where each block of an image lies: found by going through the file once, and remembered beside it until it changes.

Only blocks of complete checkpoints are in an index. So whoever finds a directory in it knows that everything below
that directory is there too: what a killed writer left counts for nothing.
"""

from __future__ import annotations

import os
import sys
from array import array
from itertools import chain

import libipld

from agentm_checkpoint.caches import load_cache, save_cache
from agentm_checkpoint.car import frames
from agentm_checkpoint.cids import CID_BYTES, DAG_CBOR, encode_node, matches
from agentm_checkpoint.snapshot import FORMAT as SNAPSHOT_FORMAT, Snapshot, decode_snapshot, is_snapshot
from agentm_kernel.errors import IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid

FORMAT = f"agentm-index/1 {sys.byteorder}"
MARK = SNAPSHOT_FORMAT.encode()
"""What the block of every snapshot holds."""

_LENGTH_BYTES = 4


class Index:
    """The blocks and snapshots of an image, up to the end of its last complete checkpoint."""

    __slots__ = ("damage", "end", "places", "snapshots")

    def __init__(self) -> None:
        self.places: dict[Cid, tuple[int, int]] = {}
        """Where the block of an identifier begins and ends in the file."""
        self.snapshots: list[Snapshot] = []
        """Oldest first."""
        self.end = 0
        self.damage: str | None = None
        """Why a snapshot cannot be used, if one cannot."""

    def scan(self, data: bytes, start: int, offset: int = 0) -> None:
        """Take in the checkpoints in `data` from `start` on; `offset` is where the data begins in the file."""
        self.end = offset + start
        pending: dict[Cid, tuple[int, int]] = {}
        for cid, first, last in frames(data, start):
            pending[cid] = offset + first, offset + last
            if cid[1] == DAG_CBOR and MARK in (block := data[first:last]) and self._found(cid, block):
                self.end = offset + last
                self.places |= pending
                pending = {}

    def _found(self, cid: Cid, block: bytes) -> bool:
        """Whether this is a snapshot; a folder may hold a note that is called like the format of one."""
        try:
            if not matches(cid, block):
                raise IntegrityError("its bytes were changed")
            if not is_snapshot(block):
                return False
            self.snapshots.append(decode_snapshot(block))
        except IntegrityError as error:
            self.damage = f"holds a checkpoint that cannot be used: {error.message}"
        return True


def index_path(image: str) -> str:
    return os.path.join(os.path.dirname(image), "image.index")


def save_index(image: str, store: str, status: os.stat_result, index: Index) -> None:
    """Remember the index of the image that has this status. One that is damaged is gone through every time."""
    head = encode_node(
        {
            "format": FORMAT,
            "store": store,
            "file": _signature(status),
            "blocks": len(index.places),
            "snapshots": [snapshot.block for snapshot in index.snapshots],
        }
    )
    places = array("Q", chain.from_iterable(index.places.values()))
    length = len(head).to_bytes(_LENGTH_BYTES, "little")
    save_cache(index_path(image), b"".join((length, head, *index.places, places.tobytes())))


def load_index(image: str, store: str, status: os.stat_result) -> Index | None:
    """What is remembered of the store's image, if that has not changed since."""
    content = load_cache(index_path(image))
    if content is None:
        return None
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    head = libipld.decode_dag_cbor(content[_LENGTH_BYTES:start])
    if (head["format"], head["store"], head["file"]) != (FORMAT, store, _signature(status)):
        return None
    end = start + head["blocks"] * CID_BYTES
    cids = [content[place : place + CID_BYTES] for place in range(start, end, CID_BYTES)]
    places = array("Q", content[end:])
    index = Index()
    index.places = dict(zip(cids, zip(places[::2], places[1::2], strict=True), strict=True))
    index.snapshots = [decode_snapshot(block) for block in head["snapshots"]]
    index.end = status.st_size
    return index


def _signature(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
