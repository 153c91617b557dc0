"""CAR version 1: the archive format of IPLD. A header, then blocks one after the other, each with its identifier.

libipld reads archives of nodes only, and none that is cut off; so the framing, a length before each block, is done
here.
"""

from __future__ import annotations

from agentm_checkpoint.cids import CID_BYTES, DAG_CBOR_PREFIX, RAW_PREFIX, encode_node, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.cids import Cid

_PREFIXES = (RAW_PREFIX, DAG_CBOR_PREFIX)
MAX_FRAME = 4 << 20
"""No block of ours is longer than 1 MiB; a length beyond this is a lie or a flipped bit."""

_CID_MIDDLE = RAW_PREFIX[2:]
"""The two bytes that identifiers of both codecs have in common, after the version and the codec."""
_LONGEST_LENGTH = 4
_HASH_FREELY = 256 << 20
"""Bytes that a search hashes without asking for more signs of a frame: a note may be full of what looks like one."""


def encode_header(roots: Iterable[Cid]) -> bytes:
    header = encode_node({"roots": [*roots], "version": 1})
    return _varint(len(header)) + header


def encode_frame(cid: Cid, block: bytes) -> bytes:
    return _varint(CID_BYTES + len(block)) + cid + block


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(data: bytes, offset: int) -> tuple[int, int] | None:
    """The number at `offset` and where it ends; `None` if there is no whole number of reasonable size."""
    number = shift = 0
    for position in range(offset, min(offset + 4, len(data))):
        byte = data[position]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position + 1
        shift += 7
    return None


Frame = tuple[bytes, int, int]
"""An identifier, and where the block that it names begins and ends in the buffer."""


def frames(data: bytes, offset: int) -> Iterator[Frame]:
    """The whole frames from `offset` on. Ends, without a word, where no whole frame with an identifier of ours is."""
    length = len(data)
    while offset < length:
        size = data[offset]
        start = offset + 1
        if size > 0x7F:
            if start < length and data[start] < 0x80:  # a loop for every length would double the time of a scan
                size += (data[start] - 1) << 7
                start += 1
            elif (head := read_varint(data, offset)) is not None:
                size, start = head
            else:
                return
        body = start + CID_BYTES
        offset = start + size
        if offset > length or body > offset or size > MAX_FRAME:
            return
        cid = data[start:body]
        if not cid.startswith(_PREFIXES):
            return
        yield cid, body, offset


# ------------------------------------------------------------------------------------------------ damaged archives

Gap = tuple[int, int]
"""Where bytes begin and end that belong to no whole frame."""


def verified_frames(data: bytes, offset: int, gaps: list[Gap]) -> Iterator[Frame]:
    """Every frame from `offset` on whose block is what its identifier says; the rest is noted in `gaps`.

    After damage of any kind, in a length too, the next frame is looked for: what proves a frame is its own hash, so
    it does not matter what is wrong with the bytes before it.
    """
    view = memoryview(data)
    while offset < len(data):
        for frame in frames(data, offset):
            if not matches(frame[0], view[frame[1] : frame[2]]):
                break
            yield frame
            offset = frame[2]
        if offset < len(data):
            found = _next_verified(data, offset + 1)
            gaps.append((offset, found))
            offset = found


def last_frame(tail: bytes) -> Frame | None:
    """The frame that ends where `tail` does, if it is whole; `tail` may begin in the middle of another."""
    middle = tail.rfind(_CID_MIDDLE)
    while middle >= 0:
        at = middle - 2
        is_cid = at > 0 and tail.startswith(_PREFIXES, at)
        for start in range(at - 1, max(0, at - _LONGEST_LENGTH) - 1, -1) if is_cid else ():
            if read_varint(tail, start) == (len(tail) - at, at):
                cid, body = tail[at : at + CID_BYTES], at + CID_BYTES
                if matches(cid, tail[body:]):
                    return cid, body, len(tail)
        middle = tail.rfind(_CID_MIDDLE, 0, middle)
    return None


def _next_verified(data: bytes, offset: int) -> int:
    """Where the next frame begins whose block is what its identifier says; the end of the data if none is left."""
    hashed = 0
    at = _next_cid(data, offset)
    while at is not None:
        start = _frame_start(data, at, offset, must_be_followed=hashed > _HASH_FREELY)
        if start is not None:
            return start
        hashed += min(MAX_FRAME, len(data) - at)
        at = _next_cid(data, at + 1)
    return len(data)


def _next_cid(data: bytes, offset: int) -> int | None:
    """Where the next thing begins that looks like an identifier."""
    middle = data.find(_CID_MIDDLE, offset + 2)
    while middle >= 0:
        if data.startswith(_PREFIXES, middle - 2):
            return middle - 2
        middle = data.find(_CID_MIDDLE, middle + 1)
    return None


def _frame_start(data: bytes, cid_at: int, earliest: int, *, must_be_followed: bool = False) -> int | None:
    """Where the frame begins whose identifier is at `cid_at`, if a length before it makes it a whole one."""
    for start in range(cid_at - 1, max(earliest, cid_at - _LONGEST_LENGTH) - 1, -1):
        head = read_varint(data, start)
        if head is None or head[1] != cid_at or not CID_BYTES <= head[0] <= MAX_FRAME:
            continue
        end = cid_at + head[0]
        if end > len(data) or (must_be_followed and not _is_boundary(data, end)):
            continue
        if matches(data[cid_at : cid_at + CID_BYTES], memoryview(data)[cid_at + CID_BYTES : end]):
            return start
    return None


def _is_boundary(data: bytes, end: int) -> bool:
    """Whether the data ends there, or something follows that looks like a frame."""
    head = read_varint(data, end)
    return end == len(data) or (head is not None and data.startswith(_PREFIXES, head[1]))
