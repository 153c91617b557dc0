"""What is kept of this device's checkouts is read back in its one form, and in no other."""

from __future__ import annotations

import pytest

from agentm_checkpoint.cids import cid_text, encode_node, node_cid
from agentm_checkpoint.device_state import FORMAT, DeviceState, decode_device_state
from agentm_checkpoint.tree import Root
from agentm_kernel.plugin import IntegrityError

CID = node_cid(encode_node({}))
ID = cid_text(CID)
FIELDS = {
    "format": FORMAT,
    "checkpoint": ID,
    "root": [7, 2, CID],
    "checkouts": {"a": "/src/a"},
    "left_out": {"a": [".env"]},
    "history": ID,
}


@pytest.mark.parametrize("history", [ID, None])
def test_it_comes_back_as_it_was(history):
    state = DeviceState(
        Root(7, 2, CID), checkpoint=ID, checkouts={"a": "/src/a"}, left_out={"a": [".env"]}, history=history
    )
    assert state.block == encode_node({**FIELDS, "history": history})
    found = decode_device_state(state.block)
    assert (found.root.size, found.root.notes, found.root.cid) == (7, 2, CID)
    assert (found.checkpoint, found.checkouts, found.left_out, found.history) == (
        ID,
        {"a": "/src/a"},
        {"a": [".env"]},
        history,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "agentm-device-state/2"),
        ("checkpoint", None),
        ("checkpoint", "no id"),
        ("root", [7, 2]),
        ("root", [True, True, CID]),
        ("root", ["7", "2", CID]),
        ("root", [7, None, CID]),
        ("root", [7, 2, ID]),
        ("checkouts", ["/src/a"]),
        ("checkouts", {"a": 1}),
        ("left_out", {"a": ".env"}),
        ("left_out", {"a": [1]}),
        ("history", "no id"),
        ("history", 1),
    ],
)
def test_a_field_of_another_kind_is_damage(field, value):
    with pytest.raises(IntegrityError, match="not in its one form"):
        decode_device_state(encode_node({**FIELDS, field: value}))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_missing_is_damage(field):
    left = {name: value for name, value in FIELDS.items() if name != field}
    with pytest.raises(IntegrityError, match="not in its one form"):
        decode_device_state(encode_node(left))


def test_a_field_that_is_not_known_is_not_dropped():
    with pytest.raises(IntegrityError, match="fields that this agentm does not know"):
        decode_device_state(encode_node({**FIELDS, "more": 1}))
