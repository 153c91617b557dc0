"""Checkpoints to and from an IPFS daemon. The same blocks as in the image, under the same identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_checkpoint.car import MAX_FRAME, encode_frame, encode_header, frames, read_varint
from agentm_checkpoint.cids import CID_BYTES, cid_text, matches
from agentm_checkpoint.reading import Limits, check_totals, part_cids, reachable, read_tree
from agentm_checkpoint.snapshot import decode_snapshot
from agentm_kernel.plugin import IntegrityError, StorageIOError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.ipfs import Daemon
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Blocks

    Report = Callable[[int, int], None]
    """Told how much has been done of how much."""

_SEND_AT_ONCE = 1 << 18
_LONGEST_HEADER = 4096


def push(daemon: Daemon, image: Image, snapshot: Snapshot, report: Report | None = None) -> int:
    """Make the daemon keep the snapshot; how many blocks had to be sent.

    What it keeps of an earlier checkpoint is not sent again. That it has everything is shown by its pinning the new
    one, for which it has to visit every block; if that fails, all of them are sent.
    """
    _check_same_id(daemon, snapshot)
    kept = daemon.pinned()
    if snapshot.cid in kept:
        return 0
    older = [other for other in image.snapshots if other.cid in kept]
    there = set(reachable(older[-1].root.cid, image.fetch)) if older else set()
    wanted = [snapshot.cid, *reachable(snapshot.root.cid, image.fetch)]
    if there:
        missing = [cid for cid in wanted if cid not in there]
        try:
            return _send(daemon, image, snapshot, missing, report)
        except StorageIOError:
            daemon.remaining()
    return _send(daemon, image, snapshot, wanted, report)


def _check_same_id(daemon: Daemon, snapshot: Snapshot) -> None:
    if daemon.put_node(snapshot.block) != snapshot.cid:
        raise IntegrityError(
            f"the IPFS daemon at {daemon.api} has another id for the checkpoint {snapshot.id}",
            hint="it does not compute standard identifiers; nothing was pushed",
        )


def _send(daemon: Daemon, image: Image, snapshot: Snapshot, cids: list[Cid], report: Report | None) -> int:
    def pieces() -> Iterator[bytes]:
        buffer = bytearray(encode_header([snapshot.cid]))
        for number, cid in enumerate(cids, start=1):
            block = snapshot.block if cid == snapshot.cid else image.fetch(cid)
            buffer += encode_frame(cid, block)
            if len(buffer) >= _SEND_AT_ONCE:
                yield bytes(buffer)
                buffer.clear()
                if report is not None:
                    report(number, len(cids))
        yield bytes(buffer)
        if report is not None:
            report(len(cids), len(cids))

    daemon.import_car(pieces(), snapshot.cid)
    return len(cids)


def pull(
    daemon: Daemon, cid: Cid, limits: Limits | None = None, report: Report | None = None
) -> tuple[Snapshot, Blocks]:
    """A snapshot from the daemon with every block it needs, all of them compared and the tree found good.

    Nothing is kept that the snapshot does not account for, and an answer that goes on for longer than its totals
    allow is refused.
    """
    blocks: Blocks = {}
    snapshot: Snapshot | None = None
    received = 0
    for found, block in _received(daemon, cid):
        if snapshot is None:
            if found != cid:
                raise _wrong(daemon, "the first block is not the one that was asked for")
            snapshot = decode_snapshot(block)
            check_totals(snapshot.root, limits or Limits())
            allowance = _allowance(snapshot)
            continue
        received += len(block)
        if received > allowance:
            raise _wrong(daemon, "it sent more than the checkpoint holds")
        blocks[found] = block
        if report is not None:
            report(min(received, snapshot.root.size), snapshot.root.size)
    if snapshot is None:
        raise StorageIOError(f"the IPFS daemon at {daemon.api} does not have the checkpoint {cid_text(cid)}")
    return snapshot, _needed(daemon, snapshot, blocks)


def _allowance(snapshot: Snapshot) -> int:
    """How many bytes the blocks of a tree with these totals can have: the notes, and the longest way to each."""
    return snapshot.root.size + 32_768 * snapshot.root.notes + MAX_FRAME


def _needed(daemon: Daemon, snapshot: Snapshot, blocks: Blocks) -> Blocks:
    def fetch(cid: Cid) -> bytes:
        block = blocks.get(cid)
        if block is None:
            raise _wrong(daemon, f"the block {cid_text(cid)} is missing")
        return block

    for key, leaf in read_tree(snapshot.root, fetch, from_stranger=True).items():
        for size, cid in part_cids(leaf, fetch):
            if len(fetch(cid)) != size:
                raise _wrong(daemon, f"the note {ascii(key)} does not have the size that the checkpoint says")
    return {cid: blocks[cid] for cid in reachable(snapshot.root.cid, fetch)}


def _received(daemon: Daemon, root: Cid) -> Iterator[tuple[Cid, bytes]]:
    """The blocks of the daemon's archive as they come, each compared with its identifier."""
    buffer = b""
    header_read = False
    for piece in daemon.export_car(root):
        buffer += piece
        if not header_read:
            head = read_varint(buffer, 0)
            if head is not None and len(buffer) >= sum(head):
                buffer = buffer[sum(head) :]
                header_read = True
            elif len(buffer) > _LONGEST_HEADER:
                raise _wrong(daemon, "it is not an archive")
            else:
                continue
        end = 0
        for cid, start, end in frames(buffer, 0):
            block = buffer[start:end]
            if not matches(cid, block):
                raise _wrong(daemon, f"the bytes of {cid_text(cid)} are not what that id stands for")
            yield cid, block
        buffer = buffer[end:]
        _check_rest(daemon, buffer)
    if buffer:
        raise _wrong(daemon, "the archive is cut off")


def _check_rest(daemon: Daemon, rest: bytes) -> None:
    """What is left must be the beginning of a frame that could still come."""
    head = read_varint(rest, 0)
    is_bad_length = head is None and len(rest) >= 4
    if is_bad_length or (head is not None and (not CID_BYTES <= head[0] <= MAX_FRAME or len(rest) >= sum(head))):
        raise _wrong(daemon, "it holds something that is no block of a checkpoint")


def _wrong(daemon: Daemon, what: str) -> IntegrityError:
    return IntegrityError(
        f"what the IPFS daemon at {daemon.api} sent is refused: {what}",
        hint="nothing was written; ask another daemon, or restore from the local image",
    )
