"""What a newer agentm wrote is not damaged: an older one says that it does not know it, and leaves it alone."""

from __future__ import annotations

import pytest

from agentm_checkpoint.capture import take
from agentm_checkpoint.car import encode_frame, encode_header
from agentm_checkpoint.cids import decode_node, encode_node, node_cid
from agentm_checkpoint.history import History
from agentm_checkpoint.verifying import verify_image
from agentm_kernel import Locator
from agentm_kernel.errors import IntegrityError, StorageIOError

STORE_ID = "11111111-2222-3333-4444-555555555555"


def of_newer_format(good, last):
    last = last.replace(b"agentm-checkpoint/1", b"agentm-checkpoint/2")
    return good + encode_frame(node_cid(last), last)


def with_another_field(good, last):
    last = encode_node({**decode_node(last), "more": 1})
    return good + encode_frame(node_cid(last), last)


def in_newer_file(good, _last):
    newer = encode_node({"format": "agentm-image/2", "store": STORE_ID})
    return encode_header([node_cid(newer)]) + encode_frame(node_cid(newer), newer) + good[-2000:]


@pytest.mark.parametrize("newer", [of_newer_format, with_another_field, in_newer_file])
def test_checkpoints_of_a_newer_agentm_are_left_as_they_are(image_file, open_image, store, newer):
    """Its checkpoint was taken for one that a killed writer had left, and cut off."""
    store.write(Locator("notes/a.md"), "# A note\n" * 20)
    take(store, open_image(), author="a", reason="r")
    written = newer(image_file.read_bytes(), open_image().latest().block)
    image_file.write_bytes(written)

    image = open_image()
    with pytest.raises(IntegrityError, match="does not know") as refused:
        take(store, image, author="a", reason="r")

    assert "upgrade" in refused.value.hint
    assert "does not know" in image.damage
    assert not verify_image(image).is_good
    assert image_file.read_bytes() == written
    assert not list(image_file.parent.glob("*.damaged-*"))


def test_a_history_of_a_newer_agentm_is_left_as_it_is(tmp_path):
    """It was taken for what a killed writer had left, and cut off."""
    history = History(str(tmp_path / "history"), days=90, megabytes=1)
    history.record("a.md", "one", "two")
    newer = encode_node({"format": "agentm-history/2", "anything": "else"})
    with open(history.path, "ab") as file:
        file.write(encode_frame(node_cid(newer), newer))
    with open(history.path, "rb") as file:
        written = file.read()

    with pytest.raises(StorageIOError, match="newer agentm") as refused:
        history.record("a.md", "two", "three")

    assert "upgrade" in refused.value.hint
    assert "newer agentm" in history.read().problems()[0]
    with open(history.path, "rb") as file:
        assert file.read() == written
