"""Where each block of an image lies: found by going through the file once, and remembered beside it until it changes.

Only blocks of complete checkpoints are in an index. So whoever finds a directory in it knows that everything below
that directory is there too: what a killed writer left counts for nothing.
"""

from __future__ import annotations

import os
import sys
from array import array

import libipld

from agentm_checkpoint.caches import load_cache, save_cache
from agentm_checkpoint.car import frames, verified_frames
from agentm_checkpoint.cids import CID_BYTES, DAG_CBOR, decode_node, encode_node, split_cids
from agentm_checkpoint.device_state import FORMAT as DEVICE_FORMAT, decode_device_state
from agentm_checkpoint.snapshot import FORMAT as SNAPSHOT_FORMAT, Snapshot, decode_snapshot
from agentm_kernel.plugin import IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.car import Frame, Gap
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.device_state import DeviceState

FORMAT = f"agentm-index/2 {sys.byteorder}"
MARK, _DEVICE_MARK = (form.rstrip("0123456789").encode() for form in (SNAPSHOT_FORMAT, DEVICE_FORMAT))
"""What the block of every snapshot holds, of a newer agentm's too."""
_MARKS = (MARK, _DEVICE_MARK)

_LENGTH_BYTES = 4


class Index:
    """The blocks and snapshots of an image, up to the end of its last complete checkpoint."""

    __slots__ = ("_decoded", "_devices", "_ends", "_numbers", "_snapshots", "_starts", "end", "gaps", "unusable")

    def __init__(self) -> None:
        self._numbers: dict[Cid, int] = {}
        """Counted from zero, in the order of the dictionary."""
        self._starts = array("Q")
        self._ends = array("Q")
        """Where the block of that number begins and ends in the file."""
        self._snapshots: list[bytes] = []
        """The blocks of the snapshots, oldest first."""
        self._decoded: list[Snapshot] | None = []
        """The same as snapshots; `None` until somebody asks, where they were remembered."""
        self._devices: list[bytes] = []
        """The blocks that say what the checkouts of this device held at a snapshot."""
        self.end = 0
        self.gaps: list[Gap] = []
        """Bytes of the file that are no whole block, in order."""
        self.unusable: str | None = None
        """Why a snapshot cannot be used although its bytes are whole, if one cannot."""

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._numbers

    def __iter__(self) -> Iterator[Frame]:
        """Every block's identifier, with where the block begins and ends."""
        return zip(self._numbers, self._starts, self._ends, strict=True)

    @property
    def snapshots(self) -> list[Snapshot]:
        """Oldest first."""
        if self._decoded is None:
            self._decoded = [decode_snapshot(block) for block in self._snapshots]
        return self._decoded

    def newest(self, store: str) -> Snapshot | None:
        """The last snapshot that was taken of that store. A long history is not decoded for this."""
        return next((shot for shot in map(decode_snapshot, reversed(self._snapshots)) if shot.store == store), None)

    def place(self, cid: Cid) -> tuple[int, int] | None:
        """Where a block begins and ends in the file."""
        number = self._numbers.get(cid)
        return None if number is None else (self._starts[number], self._ends[number])

    @property
    def device_states(self) -> dict[str, DeviceState]:
        """What is kept of the checkouts of this device, by the id of the snapshot that it was taken with."""
        return {state.checkpoint: state for state in map(decode_device_state, self._devices)}

    def scan(self, data: bytes, start: int) -> None:
        """Take in what is whole in the file `data` from `start` on, and note what is not."""
        self._take_in(verified_frames(data, start, self.gaps), data, start, 0)

    def add_written(self, data: bytes, start: int, offset: int) -> None:
        """Take in what was just written at `offset` of the file: that need not be compared again."""
        self._take_in(frames(data, start), data, start, offset)

    def _take_in(self, found: Iterable[Frame], data: bytes, start: int, offset: int) -> None:
        self.end = offset + start
        pending: list[Frame] = []
        for frame in found:
            pending.append(frame)
            cid, first, last = frame
            if cid[1] != DAG_CBOR or not any(mark in (block := data[first:last]) for mark in _MARKS):
                continue
            if self._is_snapshot(block):
                self.end = offset + last
                self._add(pending, offset)
                pending.clear()

    def _add(self, found: list[Frame], offset: int) -> None:
        numbers, starts, ends = self._numbers, self._starts, self._ends
        for cid, first, last in found:
            number = numbers.setdefault(cid, len(starts))
            if number == len(starts):
                starts.append(offset + first)
                ends.append(offset + last)
            else:  # a second block of that name: it may have been written to replace a damaged one
                starts[number], ends[number] = offset + first, offset + last

    def _is_snapshot(self, block: bytes) -> bool:
        """Whether a checkpoint ends here; a folder may hold a note that is called like the format of a snapshot."""
        try:
            fields = decode_node(block)
            form = fields.get("format") if isinstance(fields, dict) else None
            if not isinstance(form, str):
                return False
            if form == DEVICE_FORMAT:
                decode_device_state(block)
                self._devices.append(block)
                return False
            snapshot = decode_snapshot(block)
        except IntegrityError as error:
            self.unusable = f"holds a checkpoint that cannot be used, a newer agentm's perhaps: {error.message}"
            return True
        self._snapshots.append(block)
        if self._decoded is not None:
            self._decoded.append(snapshot)
        return True

    # -- remembering ------------------------------------------------------------------------------------------

    def save(self, image: str, store: str, status: os.stat_result) -> None:
        """Remember it for as long as the image of that store has this status."""
        fields = {
            "format": FORMAT,
            "store": store,
            "file": _signature(status),
            "blocks": len(self._starts),
            "snapshots": self._snapshots,
            "devices": self._devices,
        }
        head = encode_node(fields)
        length = len(head).to_bytes(_LENGTH_BYTES, "little")
        columns = (*self._numbers, self._starts.tobytes(), self._ends.tobytes())
        save_cache(_path(image), b"".join((length, head, *columns)))

    @classmethod
    def load(cls, image: str, store: str, status: os.stat_result) -> Index | None:
        """What is remembered of the store's image, if that has not changed since."""
        content = load_cache(_path(image))
        if content is None:
            return None
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        fields = libipld.decode_dag_cbor(content[_LENGTH_BYTES:start])
        if (fields["format"], fields["store"], fields["file"]) != (FORMAT, store, _signature(status)):
            return None
        blocks = fields["blocks"]
        end = start + blocks * CID_BYTES
        places = array("Q", content[end:])
        index = cls()
        index._numbers = dict(zip(split_cids(content[start:end]), range(blocks), strict=True))
        index._starts, index._ends = places[:blocks], places[blocks:]
        index._snapshots, index._decoded = fields["snapshots"], None
        index._devices = fields["devices"]
        index.end = status.st_size
        return index


def _path(image: str) -> str:
    return os.path.join(os.path.dirname(image), "image.index")


def _signature(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
