"""Content identifiers: version 1, sha2-256, and one of two codecs. What has another form is not ours.

A CID is kept as its 36 bytes. libipld does the encoding: it is imported in under a millisecond and a hundred times
faster than the pure libraries. The hashing is `hashlib`'s.
"""

from __future__ import annotations

import hashlib
from struct import Struct

import libipld

from agentm_kernel.plugin import IntegrityError, InvalidContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Cid = bytes

RAW = 0x55
DAG_CBOR = 0x71
CID_BYTES = 36

_SHA2_256 = 0x12
RAW_PREFIX = bytes((1, RAW, _SHA2_256, 32))
DAG_CBOR_PREFIX = bytes((1, DAG_CBOR, _SHA2_256, 32))


def raw_cid(data: bytes | memoryview) -> Cid:
    """The identifier of plain bytes."""
    return RAW_PREFIX + hashlib.sha256(data).digest()


def node_cid(block: bytes | memoryview) -> Cid:
    """The identifier of an encoded node."""
    return DAG_CBOR_PREFIX + hashlib.sha256(block).digest()


def split_cids(joined: bytes) -> tuple[Cid, ...]:
    """The identifiers that were joined. Of all ways to cut up thousands, the quickest."""
    return Struct(f"{CID_BYTES}s" * (len(joined) // CID_BYTES)).unpack(joined)


def is_cid(value: object) -> bool:
    """Whether these are the bytes of an identifier of ours."""
    return isinstance(value, bytes) and len(value) == CID_BYTES and value.startswith((RAW_PREFIX, DAG_CBOR_PREFIX))


def is_note_link(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == CID_BYTES and value.startswith(RAW_PREFIX)


def is_node_link(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == CID_BYTES and value.startswith(DAG_CBOR_PREFIX)


def cid_text(cid: Cid) -> str:
    """How people and daemons write it: multibase base32, `bafy…` for a node and `bafk…` for bytes."""
    return libipld.encode_cid(cid)


def parse_cid(text: str) -> Cid:
    """The bytes of a written identifier, in whatever base it is written."""
    try:
        fields = libipld.decode_cid(text)
        cid = bytes((fields["version"], fields["codec"], fields["hash"]["code"], fields["hash"]["size"]))
        cid += fields["hash"]["digest"]
    except (ValueError, KeyError, TypeError):
        cid = b""
    if not is_cid(cid):
        raise InvalidContentError(
            f"{ascii(text[:80])} is not the id of a checkpoint",
            hint="`agentm checkpoint list` shows ids; they begin with bafyrei",
        )
    return cid


def matches(cid: Cid, block: bytes | memoryview) -> bool:
    """Whether `block` is what `cid` names."""
    return hashlib.sha256(block).digest() == cid[4:]


def encode_node(value: object) -> bytes:
    """The one encoding of a node. Plain byte strings are not used: the library writes a CID's bytes as a link."""
    return libipld.encode_dag_cbor(value)


def decode_node(block: bytes) -> Any:
    """The value of a node, `IntegrityError` unless `block` is the one encoding of that value.

    The library accepts lengths that are written longer than needed, and hands out a byte string and a link alike;
    encoding the value again tells each of them apart from the one form that is allowed.
    """
    try:
        value = libipld.decode_dag_cbor(block)
        canonical = libipld.encode_dag_cbor(value)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"a node is not valid DAG-CBOR: {error}") from None
    if canonical != block:
        raise IntegrityError("a node is not encoded in the one canonical form")
    return value
