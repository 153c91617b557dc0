"""Where a frame ends, in a file of which a part is damaged."""

from __future__ import annotations

from agentm_checkpoint.car import _is_boundary, encode_frame
from agentm_checkpoint.cids import raw_cid


def test_a_frame_ends_where_the_data_does_or_another_frame_begins() -> None:
    first, second = (encode_frame(raw_cid(block), block) for block in (b"one", b"two" * 100))
    assert _is_boundary(first, len(first))
    assert _is_boundary(first + second, len(first))
    assert not _is_boundary(first + second, len(first) - 1)
    assert not _is_boundary(first + b"\xff" * 50, len(first))
    assert not _is_boundary(first + b"\x30 no frame at all", len(first))
