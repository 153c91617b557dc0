"""Where a frame ends, in a file of which a part is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_checkpoint import car
from agentm_checkpoint.car import MAX_FRAME, _is_boundary, encode_frame
from agentm_checkpoint.cids import raw_cid

if TYPE_CHECKING:
    import pytest


def test_a_frame_ends_where_the_data_does_or_another_frame_begins() -> None:
    first, second = (encode_frame(raw_cid(block), block) for block in (b"one", b"two" * 100))
    assert _is_boundary(first, len(first))
    assert _is_boundary(first + second, len(first))
    assert not _is_boundary(first + second, len(first) - 1)
    assert not _is_boundary(first + b"\xff" * 50, len(first))
    assert not _is_boundary(first + b"\x30 no frame at all", len(first))


def test_what_is_damaged_is_hashed_freely_for_a_while_and_then_only_before_another_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever fills an image with what looks like blocks must not keep a reader busy for hours."""
    frame = encode_frame(raw_cid(b"block"), b"BLOCK")  # the bytes are not what the id says
    hashed: list[bytes] = []
    monkeypatch.setattr(car, "matches", lambda cid, block: hashed.append(bytes(block)) or False)
    data = (frame + b"\xff" * 9) * 3 + frame

    for freely, tried in ((0, 2), (MAX_FRAME, 4)):
        monkeypatch.setattr(car, "_HASH_FREELY", freely)
        hashed.clear()
        assert car._next_verified(data, 0) == len(data)
        assert hashed == [b"BLOCK"] * tried  # the last one is followed by the end of the data
