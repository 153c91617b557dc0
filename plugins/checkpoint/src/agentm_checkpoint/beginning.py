"""How an image begins: the header, and the block that says whose image it is and in which format."""

from __future__ import annotations

from agentm_checkpoint.car import encode_frame, encode_header, frames, read_varint
from agentm_checkpoint.cids import decode_node, encode_node, matches, node_cid
from agentm_kernel.plugin import IntegrityError

IMAGE_FORMAT = "agentm-image/1"
_FORMATS = "agentm-image/"


def preamble(store: str) -> bytes:
    """How the image of one store begins: the header and the block that the header names."""
    descriptor = encode_node({"format": IMAGE_FORMAT, "store": store})
    cid = node_cid(descriptor)
    return encode_header([cid]) + encode_frame(cid, descriptor)


def store_named_by(data: bytes) -> str | None:
    """The id of the store whose image begins like this; `None` if that cannot be told."""
    said = said_by(data)
    return str(said["store"]) if "store" in said else None


def said_by(data: bytes) -> dict[str, object]:
    """What an image says of itself at its beginning, in whichever format; nothing if it is none."""
    head = read_varint(data, 0)
    frame = next(frames(data, sum(head)), None) if head is not None else None
    if frame is None or not matches(frame[0], data[frame[1] : frame[2]]):
        return {}
    try:
        fields = decode_node(data[frame[1] : frame[2]])
    except IntegrityError:
        return {}
    is_image = isinstance(fields, dict) and str(fields.get("format")).startswith(_FORMATS)
    return fields if is_image else {}
