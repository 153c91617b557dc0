"""Identifiers are the field's own, and a node has one encoding."""

from __future__ import annotations

import hashlib

import pytest

from agentm_checkpoint.cids import cid_text, decode_node, encode_node, node_cid, parse_cid, raw_cid
from agentm_kernel.errors import IntegrityError, InvalidContentError

DIGEST = hashlib.sha256(b"hello").digest()
LINK = "d82a58250001551220" + DIGEST.hex()


def test_plain_bytes_have_the_id_that_every_ipfs_tool_gives_them():
    assert cid_text(raw_cid(b"hello")) == "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"


def test_a_node_has_the_id_that_every_ipld_tool_gives_it():
    block = encode_node({"hello": "world"})

    assert cid_text(node_cid(block)) == "bafyreidykglsfhoixmivffc5uwhcgshx4j465xwqntbmu43nb2dzqwfvae"


@pytest.mark.parametrize("base", ["b", "z", "f"])
def test_an_id_is_read_in_whatever_base_it_is_written(base):
    import libipld

    assert parse_cid(libipld.encode_multibase(base, raw_cid(b"hello"))) == raw_cid(b"hello")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "bafkrei",
        "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn",  # version 0
        "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",  # dag-pb
        "bafkqaaa",  # identity hash
        "zb2rhe5P4gXftAwvA4eXQ5HJwsER2owDyS9sKaQRRVQPn93bA\n",
    ],
)
def test_what_is_no_id_of_a_checkpoint_is_refused(text):
    with pytest.raises(InvalidContentError, match="not the id"):
        parse_cid(text)


@pytest.mark.parametrize(
    ("what", "encoded"),
    [
        ("a number longer than needed", "1801"),
        ("a length longer than needed", "780161"),
        ("a tag longer than needed", "d9002a" + LINK[4:]),
        ("a key given twice", "a2616101616102"),
        ("keys out of order", "a2616201616102"),
        ("a key that is no text", "a10101"),
        ("no definite length", "9f01ff"),
        ("something after the node", "0101"),
        ("a tag that is no link", "c101"),
        ("undefined", "f7"),
        ("a float of half length", "f93c00"),
        ("not a number", "fb7ff8000000000000"),
        ("text that is not UTF-8", "61ff"),
        ("bytes that look like a link and are none", "582401551220" + DIGEST.hex()),
        ("a link to no id", "d82a4101"),
        ("more items than there are bytes", "9bffffffffffffffff"),
        ("half a node", "a161"),
        ("nothing", ""),
    ],
)
def test_anything_but_the_one_encoding_is_refused(what, encoded):
    with pytest.raises(IntegrityError):
        decode_node(bytes.fromhex(encoded))


def test_endless_nesting_is_refused():
    with pytest.raises(IntegrityError):
        decode_node(b"\x81" * 1_000_000 + b"\x01")
