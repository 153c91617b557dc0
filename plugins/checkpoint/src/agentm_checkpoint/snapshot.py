"""A snapshot: a tree with its parent, author, time and reason. Its identifier is the checkpoint's id.

The parent is named in text and is no link: a daemon that pins a snapshot must hold all of it, and history that was
pruned here is not there to be held.
"""

from __future__ import annotations

from agentm_checkpoint.cids import cid_text, decode_node, encode_node, is_node_link, node_cid, parse_cid
from agentm_checkpoint.tree import Root
from agentm_kernel.plugin import IntegrityError, InvalidContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid

FORMAT = "agentm-checkpoint/1"
_TEXT_LIMIT = 4000
_LATEST_TIME = 253_402_300_799_999  # the end of the year 9999, in milliseconds


class Snapshot:
    """One checkpoint. `block` is its encoding, `cid` its id."""

    __slots__ = ("author", "automatic", "block", "cid", "parent", "reason", "root", "store", "time")

    def __init__(
        self,
        root: Root,
        *,
        parent: str | None,
        store: str,
        time: int,
        author: str,
        reason: str,
        automatic: bool | None = False,
    ) -> None:
        self.root = root
        self.parent = parent
        self.store = store
        """The id of the store that it was taken of."""
        self.time = time
        """Milliseconds since 1970, UTC."""
        self.author = author
        self.reason = reason
        self.automatic = bool(automatic)
        """Whether it was taken to make a restore undoable: it has an id, and is never what `latest` means."""
        fields: dict[str, object] = {
            "format": FORMAT,
            "root": [root.size, root.notes, root.cid],
            "parent": parent,
            "store": store,
            "time": time,
            "author": author,
            "reason": reason,
        }
        if automatic is not None:  # checkpoints of agentm 0.1 do not say it
            fields["automatic"] = automatic
        self.block = encode_node(fields)
        self.cid: Cid = node_cid(self.block)

    @property
    def id(self) -> str:
        return cid_text(self.cid)

    @property
    def when(self) -> str:
        import time

        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.time / 1000))

    @property
    def root_id(self) -> str:
        """The same for every copy of the same notes, wherever it lies and whoever took it."""
        return cid_text(self.root.cid)


def decode_snapshot(block: bytes) -> Snapshot:
    """The snapshot that `block` encodes; `IntegrityError` if it encodes anything else."""
    fields = decode_node(block)
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise IntegrityError("this is not a checkpoint, or one of a format that this agentm does not know")
    try:
        size, notes, cid = fields["root"]
        parent, store, time = fields["parent"], fields["store"], fields["time"]
        author, reason, automatic = fields["author"], fields["reason"], fields.get("automatic")
    except (KeyError, TypeError, ValueError):
        raise IntegrityError("the checkpoint lacks a field") from None
    texts_fit = all(isinstance(text, str) and len(text) <= _TEXT_LIMIT for text in (store, author, reason))
    counts_fit = all(type(count) is int and count >= 0 for count in (size, notes, time)) and time <= _LATEST_TIME
    if not (
        texts_fit
        and counts_fit
        and is_node_link(cid)
        and _is_parent(parent)
        and type(automatic) in (bool, type(None))
    ):
        raise IntegrityError("the checkpoint has a field of the wrong kind")
    snapshot = Snapshot(
        Root(size, notes, cid),
        parent=parent,
        store=store,
        time=time,
        author=author,
        reason=reason,
        automatic=automatic,
    )
    if snapshot.block != block:
        raise IntegrityError("the checkpoint has fields that this agentm does not know")
    return snapshot


def _is_parent(value: object) -> bool:
    try:
        return value is None or (isinstance(value, str) and cid_text(parse_cid(value)) == value)
    except InvalidContentError:
        return False
