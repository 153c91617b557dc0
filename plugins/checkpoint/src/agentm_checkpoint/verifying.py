"""Is everything there, and is it what its identifiers say? Asked of a whole checkpoint at a time."""

from __future__ import annotations

from agentm_checkpoint.cids import is_node_link
from agentm_checkpoint.reading import children, part_cids, read_tree
from agentm_checkpoint.tree import MAX_PART
from agentm_kernel.errors import IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Leaf


def verified_leaves(image: Image, snapshot: Snapshot) -> dict[str, Leaf]:
    """Every note of the snapshot, after all that it consists of was compared; `IntegrityError` otherwise."""
    leaves = read_tree(snapshot.root, image.fetch)
    for key, leaf in leaves.items():
        if leaf[0] <= MAX_PART:
            is_whole = image.is_whole(leaf[1], leaf[0])
        else:
            is_whole = all(image.is_whole(cid, size) for size, cid in part_cids(leaf, image.fetch))
        if not is_whole:
            raise _damaged(key)
    return leaves


class Finding:
    """What is wrong with one snapshot."""

    __slots__ = ("problem", "snapshot")

    def __init__(self, snapshot: Snapshot, problem: str) -> None:
        self.snapshot = snapshot
        self.problem = problem


def verify_image(image: Image) -> list[Finding]:
    """The snapshots of an image that are not whole.

    What several of them share is looked at once. The newest is read as if it came from a stranger; the shape of the
    others was looked at when they came in, and equal hashes mean that it is the same.
    """
    findings = []
    whole: set[Cid] = set()
    for snapshot in reversed(image.snapshots):
        try:
            if snapshot is image.latest():
                verified_leaves(image, snapshot)
            _check_blocks(image, snapshot.root.cid, whole)
        except IntegrityError as error:
            findings.append(Finding(snapshot, error.message))
    return findings[::-1]


def _check_blocks(image: Image, root: Cid, whole: set[Cid]) -> None:
    """Compare every block below `root` that is not known to be whole, and remember those that are."""
    found: set[Cid] = set()
    pending = [("", root)]
    while pending:
        key, cid = pending.pop()
        if cid in whole or cid in found:
            continue
        if is_node_link(cid):
            pending += [(f"{key}/{name}" if key else name, child) for name, child in children(image.fetch(cid))]
        elif not image.is_whole(cid):
            raise _damaged(key)
        found.add(cid)
    whole |= found


def last_whole(image: Image) -> Snapshot | None:
    """The newest snapshot that can be relied on."""
    bad = {finding.snapshot.cid for finding in verify_image(image)}
    return next((snapshot for snapshot in reversed(image.snapshots) if snapshot.cid not in bad), None)


def _damaged(key: str) -> IntegrityError:
    return IntegrityError(
        f"the note {ascii(key)} is missing from the image, or damaged in it",
        hint="`agentm checkpoint verify` shows what is whole; `create --full` replaces damaged blocks",
    )
