"""The second root of a local image: what the checkouts of this device held when a checkpoint was taken.

It names its snapshot and the snapshot does not know it. So it is in no checkpoint that is pushed, and copies of one
store on two devices still have one root.

    {"format", "checkpoint": id of the snapshot, "root": [size, files, link], "checkouts": {id: path},
     "left_out": {id: [name, …]}, "history": id of the newest entry of the history, or null}

Below the root a directory stands for each checkout, named by its id, with the files of its `.harness/`.
"""

from __future__ import annotations

from agentm_checkpoint.cids import cid_text, decode_node, encode_node, is_node_link, node_cid, parse_cid
from agentm_checkpoint.tree import Root
from agentm_kernel.plugin import IntegrityError, InvalidContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_checkpoint.cids import Cid

FORMAT = "agentm-device-state/1"


class DeviceState:
    """What this device alone held at one checkpoint. `block` is its encoding."""

    __slots__ = ("block", "checkouts", "checkpoint", "cid", "history", "left_out", "root")

    def __init__(
        self,
        root: Root,
        *,
        checkpoint: str,
        checkouts: Mapping[str, str],
        left_out: Mapping[str, list[str]],
        history: str | None,
    ) -> None:
        self.root = root
        self.checkpoint = checkpoint
        self.checkouts = dict(checkouts)
        """Where each checkout was, by its id."""
        self.left_out = {key: list(names) for key, names in left_out.items()}
        """Files that were not kept: what looks like a secret, what is no text, what is too much."""
        self.history = history
        self.block = encode_node(
            {
                "format": FORMAT,
                "checkpoint": checkpoint,
                "root": [root.size, root.notes, root.cid],
                "checkouts": self.checkouts,
                "left_out": self.left_out,
                "history": history,
            }
        )
        self.cid: Cid = node_cid(self.block)


def decode_device_state(block: bytes) -> DeviceState:
    """What `block` encodes; `IntegrityError` if it encodes anything else."""
    fields = decode_node(block)
    try:
        size, files, cid = fields["root"]
        checkouts, left_out = fields["checkouts"], fields["left_out"]
        checkpoint, history = fields["checkpoint"], fields["history"]
        is_fit = (
            fields["format"] == FORMAT
            and type(size) is type(files) is int
            and is_node_link(cid)
            and _is_table(checkouts, str)
            and _is_table(left_out, list)
            and all(isinstance(name, str) for names in left_out.values() for name in names)
            and _is_id(checkpoint)
            and (history is None or _is_id(history))
        )
    except (KeyError, TypeError, ValueError):
        is_fit = False
    if not is_fit:
        raise IntegrityError("what is kept of the checkouts of this device is not in its one form")
    state = DeviceState(
        Root(size, files, cid), checkpoint=checkpoint, checkouts=checkouts, left_out=left_out, history=history
    )
    if state.block != block:
        raise IntegrityError("what is kept of the checkouts of this device has fields that this agentm does not know")
    return state


def _is_table(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(item, kind) for item in value.values())


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and cid_text(parse_cid(value)) == value
    except InvalidContentError:
        return False
