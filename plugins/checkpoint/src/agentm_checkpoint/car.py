"""CAR version 1: the archive format of IPLD. A header, then blocks one after the other, each with its identifier.

libipld reads archives of nodes only, and none that is cut off; so the framing, a length before each block, is done
here.
"""

from __future__ import annotations

from agentm_checkpoint.cids import CID_BYTES, DAG_CBOR_PREFIX, RAW_PREFIX, encode_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.cids import Cid

_PREFIXES = (RAW_PREFIX, DAG_CBOR_PREFIX)
MAX_FRAME = 4 << 20
"""No block of ours is longer than 1 MiB; a length beyond this is a lie or a flipped bit."""


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
